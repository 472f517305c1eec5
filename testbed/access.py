"""How a cluster is asked, and as whom: kubeconfigs, kubectl, raw paths of its API."""

import datetime
import re
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import yaml

from testbed import certificates, kubeconfig
from testbed.waiting import until

KUBECTL_DEADLINE_SECONDS = 300  # longer than any --timeout a test waits with


class KubectlFailed(Exception):
    """kubectl ended with an error; `stderr` is what it said."""

    def __init__(self, arguments: Sequence[str], stderr: str) -> None:
        self.stderr = stderr
        super().__init__(f"kubectl {' '.join(arguments)}: {stderr.strip()}")


class Access:
    """The ways in. Everything that is written lies under `directory`."""

    def __init__(self, *, directory: Path, api_port: int, kubectl: Path) -> None:
        self.directory = directory
        self.api_url = f"https://127.0.0.1:{api_port}"
        self.kubectl_path = kubectl
        self.certificate_directory = directory / "certificates"
        self.kubeconfig_directory = directory / "kubeconfigs"
        self._authority = certificates.Authority("loadline-testbed-ca")

    @property
    def authority(self) -> bytes:
        """The CA of kube-apiserver's certificate and of the clients it knows, PEM."""
        return self._authority.certificate

    @property
    def kubeconfig(self) -> Path:
        """The administrator's (group system:masters)."""
        return self.kubeconfig_directory / "admin.json"

    def serving_certificate(
        self, name: str, hosts: Sequence[str] = certificates.LOOPBACK_HOSTS
    ) -> tuple[Path, Path]:
        """A certificate and key file for a server of yours, signed by the cluster's CA."""
        return self._authority.serving(name, hosts).write(self.certificate_directory, name)

    def certificate_of_a_server(self, name: str) -> certificates.KeyPair:
        """One that no server should take for a client's."""
        return self._authority.serving(name)

    def client_certificate(
        self,
        user: str,
        groups: Sequence[str] = (),
        *,
        lifetime: datetime.timedelta = certificates.LIFETIME,
    ) -> certificates.KeyPair:
        """A certificate by which kube-apiserver, and whoever trusts its CA, knows a client as `user` of `groups`."""
        return self._authority.client(user, groups, lifetime=lifetime)

    def kubeconfig_for(self, user: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig whose client certificate says `user` and `groups`."""
        return self._kubeconfig(_file_name(user), self._authority.client(user, groups))

    def kubeconfig_for_service_account(self, namespace: str, name: str) -> Path:
        """A kubeconfig with a token of that service account, from a TokenRequest, good for a day."""
        token = self.kubectl(
            "create", "token", name, "--namespace", namespace, "--duration=24h"
        ).strip()
        return self._kubeconfig(f"service-account-{namespace}-{name}", token)

    def _kubeconfig(self, name: str, user: certificates.KeyPair | str) -> Path:
        path = self.kubeconfig_directory / f"{name}.json"
        return kubeconfig.write(path, server=self.api_url, authority=self.authority, user=user)

    def kubectl(
        self,
        *arguments: str,
        input: str | None = None,  # noqa: A002  subprocess' own word
        kubeconfig: Path | None = None,
    ) -> str:
        """Run kubectl as the administrator, or with another kubeconfig; returns its output. Raises KubectlFailed."""
        cache = self.directory / "kubectl-cache"
        command: list[str | Path] = [
            self.kubectl_path,
            f"--kubeconfig={kubeconfig or self.kubeconfig}",
            f"--cache-dir={cache}",
        ]
        try:
            done = subprocess.run(
                [*command, *arguments],
                input=input,
                capture_output=True,
                text=True,
                check=False,
                timeout=KUBECTL_DEADLINE_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise KubectlFailed(
                arguments, f"no answer within {KUBECTL_DEADLINE_SECONDS} s"
            ) from None
        if done.returncode != 0:
            raise KubectlFailed(arguments, done.stderr)
        return done.stdout

    def apply(self, *manifests: str | Mapping[str, Any]) -> None:
        """`kubectl apply` of YAML texts or objects."""
        texts = [m if isinstance(m, str) else msgspec.json.encode(m).decode() for m in manifests]
        self.kubectl("apply", "--filename=-", input="\n---\n".join(texts))

    def define(self, manifest: str) -> None:
        """Apply a CustomResourceDefinition and wait until its resource is served; a 404 may follow the apply."""
        self.apply(manifest)
        definition = yaml.safe_load(manifest)
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        for version in definition["spec"]["versions"]:
            path = f"/apis/{group}/{version['name']}/{plural}"
            until(partial(self._serves, path), what=f"{path} to be served")

    def _serves(self, path: str) -> bool:
        try:
            self.get(path)
        except KubectlFailed:
            return False
        return True

    def get(self, path: str) -> Any:
        """GET a path of the API as the administrator, decoded: `/apis`, `/api/v1/nodes`. Raises KubectlFailed."""
        return msgspec.json.decode(self.kubectl("get", "--raw", path))


def _file_name(user: str) -> str:
    return "user-" + re.sub(r"[^A-Za-z0-9.-]", "_", user)
