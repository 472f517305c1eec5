"""Credentials of a kubeconfig.

kubernetes-asyncio reads them, and is imported when a kubeconfig is read and not otherwise: in a pod a service account is three
files, which need no library.

| kubeconfig | kubectl | here |
|---|---|---|
| several files in `$KUBECONFIG` | merged | merged |
| `tokenFile`, exec plugin | re-read, re-run when expired or after a 401 | the same |
| `client-certificate` replaced on disk | all connections are closed | requests and watches that begin afterwards use new connections |
| `certificate-authority` replaced on disk | for new connections | the same |
| `proxy-url` | `http://`, `https://`, `socks5://` | `http://`, `https://`; any other is an error |
| `as`, `as-groups` (impersonation) | sent | sent to the API server; refused for any other server |
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from wire.kube.chosen_context import ChosenContext, chosen_context, entry
from wire.kube.cluster_access import ClusterAccess, ConnectionConfigError, empty_token
from wire.kube.exec_plugin import ExecPlugin
from wire.kube.kubeconfig_files import Document, merged
from wire.kube.kubeconfig_library import kubeconfig_library
from wire.process.proxy import usable_proxy

# What the library calls the only cluster, context and user that it is given.
_CHOSEN: Final = "chosen"


class Kubeconfig:
    """One or more kubeconfig files and the context chosen in them."""

    def __init__(self, paths: str, context: ChosenContext) -> None:
        """`paths` as in `$KUBECONFIG`: separated by colons. A missing file is skipped.

        Raises `ConnectionConfigError`.
        """
        library = kubeconfig_library()
        self._paths = paths
        try:
            config = merged(paths)
            chosen = chosen_context(config, context)
            user = entry(config, "user", chosen.get("user")) or {}
            cluster = entry(config, "cluster", chosen["cluster"]) or {}
            if not cluster.get("server"):
                # The library would send the credentials to http://localhost.
                raise ValueError(f"cluster {chosen['cluster']!r} has no server")
            if proxy := cluster.get("proxy-url"):
                usable_proxy(str(proxy), f"proxy-url of cluster {chosen['cluster']!r}")
            self._plugin = None
            if plugin := user.get("exec"):
                self._plugin = ExecPlugin(library.exec_provider(library.node("exec", plugin)).run)
            self._load = partial(library.loader, config_base_path="")
        except Exception as error:
            # The library raises key and type errors as they come.
            raise ConnectionConfigError(f"kubeconfig {paths}: {error}") from error
        self._new_configuration = library.configuration
        self._cluster, self._user = cluster, user
        self._impersonation = _impersonation(user)
        self._namespace = str(chosen.get("namespace") or "")

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        loaded = self._new_configuration()
        try:
            user = self._user
            if self._plugin is not None:
                made = await self._plugin.credentials(refused=refused)
                user = {key: each for key, each in user.items() if key != "exec"} | made
            await self._load(_document(self._cluster, user)).load_and_set(loaded)
        except Exception as error:
            raise ConnectionConfigError(f"kubeconfig {self._paths}: {error}") from error
        # A token file ends with a newline, which is not allowed in a header.
        authorization = loaded.api_key.get("BearerToken", "").strip()
        token_file = user.get("tokenFile")
        if token_file and authorization in ("", "Bearer"):
            raise ConnectionConfigError(
                f"kubeconfig {self._paths}: {empty_token(Path(token_file))}"
            )
        return ClusterAccess(
            server=loaded.host or "",
            authorization=authorization or None,
            ca_file=loaded.ssl_ca_cert,
            client_certificate_file=loaded.cert_file,
            client_key_file=loaded.key_file,
            verify=loaded.verify_ssl,
            server_hostname=loaded.tls_server_name,
            proxy=loaded.proxy,
            impersonation=self._impersonation,
            namespace=self._namespace,
        )


def _document(cluster: Document, user: Document) -> Document:
    """A kubeconfig with the entries that were chosen and nothing else."""
    return {
        "current-context": _CHOSEN,
        "contexts": [{"name": _CHOSEN, "context": {"cluster": _CHOSEN, "user": _CHOSEN}}],
        "clusters": [{"name": _CHOSEN, "cluster": cluster}],
        "users": [{"name": _CHOSEN, "user": user}],
    }


def _impersonation(user: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The headers of client-go's impersonation (transport/round_trippers.go) for a user of a kubeconfig."""
    if not user.get("as"):
        return ()
    headers = [("Impersonate-User", str(user["as"]))]
    if user.get("as-uid"):
        headers.append(("Impersonate-Uid", str(user["as-uid"])))
    headers += (("Impersonate-Group", str(group)) for group in user.get("as-groups") or ())
    for key, values in (user.get("as-user-extra") or {}).items():
        headers += ((f"Impersonate-Extra-{quote(str(key), safe='')}", str(each)) for each in values)
    return tuple(headers)
