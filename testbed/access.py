"""Access to a cluster: credentials, kubeconfigs, kubectl and raw API paths."""

import datetime
import re
import ssl
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from testbed import certificates, kubeconfig, web
from testbed.waiting import DeadlineExceeded, until
from wire.process import go_yaml

MASTERS = "system:masters"
KUBECTL_DEADLINE_SECONDS = 300  # longer than any --timeout used in a test
REQUEST_SECONDS = 60.0  # as kube-apiserver's --request-timeout
JSON = "application/json"
APPLIED = "application/apply-patch+yaml"
WORKED_ON = (
    ("apis/autoscaling/v2", "horizontalpodautoscalers"),
    ("apis/apps/v1", "deployments"),
    ("apis/apps/v1", "statefulsets"),
    ("apis/apps/v1", "replicasets"),
    ("api/v1", "replicationcontrollers"),
    ("api/v1", "pods"),
)
APPLY = "fieldManager=testbed&fieldValidation=Strict&force=true"


class RequestFailed(Exception):
    """kube-apiserver refused a request, or did not respond."""


class KubectlFailed(RequestFailed):
    """kubectl exited with an error; `stderr` is its error output."""

    def __init__(self, arguments: Sequence[str], stderr: str) -> None:
        self.stderr = stderr
        super().__init__(f"kubectl {' '.join(arguments)}: {stderr.strip()}")


class ClusterAccess:
    """Clients and credentials of one cluster. All files are written under `directory`."""

    def __init__(self, *, directory: Path, api_port: int, kubectl: Path) -> None:
        self.directory = directory
        self.api_port = api_port
        self.api_url = f"https://127.0.0.1:{api_port}"
        self.kubectl_path = kubectl
        self.certificate_directory = directory / "certificates"
        self.kubeconfig_directory = directory / "kubeconfigs"
        self._authority = certificates.Authority("loadline-testbed-ca")
        self._connections = web.Connections(
            api_port, tls=lambda: self.administrator_tls, timeout_seconds=REQUEST_SECONDS
        )
        self._resources: dict[tuple[str, str], Mapping[str, Any]] = {}

    @property
    def authority(self) -> bytes:
        """The CA (PEM) of kube-apiserver's serving certificate and of its client certificates."""
        return self._authority.certificate

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of an administrator (group system:masters)."""
        return self.kubeconfig_directory / "admin.json"

    def serving_certificate(
        self, name: str, hosts: Sequence[str] = certificates.LOOPBACK_HOSTS
    ) -> tuple[Path, Path]:
        """Paths of a serving certificate and its key, signed by the cluster's CA."""
        return self._authority.serving(name, hosts).write(self.certificate_directory, name)

    def server_certificate(self, name: str) -> certificates.KeyPair:
        """A certificate for server authentication only, which no server may accept from a client."""
        return self._authority.serving(name)

    def client_certificate(
        self,
        user: str,
        groups: Sequence[str] = (),
        *,
        lifetime: datetime.timedelta = certificates.LIFETIME,
    ) -> certificates.KeyPair:
        """A client certificate that authenticates as `user` in `groups` wherever the cluster's CA is trusted."""
        return self._authority.client(user, groups, lifetime=lifetime)

    def kubeconfig_for(self, user: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig with a client certificate for `user` in `groups`."""
        return self._kubeconfig(_file_name(user), self._authority.client(user, groups))

    def kubeconfig_for_service_account(self, namespace: str, name: str) -> Path:
        """A kubeconfig with a service account token (TokenRequest) that is valid for a day."""
        self.wait_for_service_account(namespace, name)
        token = self.token(namespace, name)
        return self._kubeconfig(f"service-account-{namespace}-{name}", token)

    def token(
        self, namespace: str, account: str, *, audiences: Sequence[str] = (), seconds: int = 86_400
    ) -> str:
        """A token of a service account (TokenRequest), for kube-apiserver or these audiences. Raises RequestFailed."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        spec = {"audiences": audiences, "expirationSeconds": seconds}
        return str(self.send("POST", path, {"spec": spec})["status"]["token"])

    def wait_for_service_account(self, namespace: str, name: str) -> None:
        """The `default` one of a new namespace is created a moment after the namespace. Raises `DeadlineExceeded`."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}"
        until(partial(self._serves, path), what=f"service account {namespace}/{name}")

    def _kubeconfig(self, name: str, user: certificates.KeyPair | str) -> Path:
        path = self.kubeconfig_directory / f"{name}.json"
        return kubeconfig.write(path, server=self.api_url, authority=self.authority, user=user)

    def kubectl(
        self,
        *arguments: str,
        input: str | None = None,  # noqa: A002  subprocess uses this name
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
        """Apply YAML texts or objects, as `kubectl apply --server-side --force-conflicts` does. Raises RequestFailed."""
        for manifest in manifests:
            for each in go_yaml.load_all(manifest) if isinstance(manifest, str) else (manifest,):
                if each is not None:
                    self.send("PATCH", f"{self._path_of(each)}?{APPLY}", each, content_type=APPLIED)

    def _path_of(self, manifest: Mapping[str, Any]) -> str:
        version, metadata = manifest["apiVersion"], manifest["metadata"]
        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        resource = self._resource(path, manifest["kind"])
        if resource["namespaced"]:
            path += f"/namespaces/{metadata.get('namespace', 'default')}"
        return f"{path}/{resource['name']}/{metadata['name']}"

    def _resource(self, path: str, kind: str) -> Mapping[str, Any]:
        """What discovery says of a kind. The document of a version is read again if it has not had the kind before."""
        found = self._resources.get((path, kind))
        if found is None:
            for each in self.get(path)["resources"]:
                if "/" not in each["name"]:
                    self._resources[path, each["kind"]] = each
            try:
                found = self._resources[path, kind]
            except KeyError:
                raise RequestFailed(f"{path} has no kind {kind}") from None
        return found

    def apply_crd(self, manifest: str) -> None:
        """Apply a CustomResourceDefinition and wait until its resource is served: right after the apply it is a 404."""
        self.apply(manifest)
        definition = go_yaml.load(manifest)
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        for version in definition["spec"]["versions"]:
            path = f"/apis/{group}/{version['name']}/{plural}"
            until(partial(self._serves, path), what=f"{path} to be served")

    def create_namespace(self, name: str) -> None:
        """If there is none of that name. Raises RequestFailed."""
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def stop_work_in(self, namespace: str) -> None:
        """Delete what controllers and autoscalers work on, and leave the rest.

        Deleting a namespace takes ten times the processor time, because objects of every resource are listed and deleted.
        """
        for group, plural in WORKED_ON:
            self.send("DELETE", f"/{group}/namespaces/{namespace}/{plural}")
        with suppress(RequestFailed):  # where the CRD is not installed
            self.send("DELETE", f"/apis/loadline.io/v1beta1/namespaces/{namespace}/loadautoscalers")

    def wait_for_crd(self, name: str) -> None:
        """Wait until a CustomResourceDefinition is established. `kubectl wait` fails while it has no conditions yet."""
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        until(partial(self._is_established, path), what=f"{name} to be established")

    def _is_established(self, path: str) -> bool:
        conditions = self.get(path).get("status", {}).get("conditions") or ()
        return any(
            each["type"] == "Established" and each["status"] == "True" for each in conditions
        )

    def _serves(self, path: str) -> bool:
        try:
            self.get(path)
        except RequestFailed:
            return False
        return True

    def close(self) -> None:
        """Close the connections to kube-apiserver."""
        self._connections.close()

    def get(self, path: str, *, accept: str = JSON) -> Any:
        """GET a path of the API, decoded: `/apis`, `/api/v1/nodes`. Raises RequestFailed."""
        return self.send("GET", path, accept=accept)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> Any:
        """A request as the administrator, with a body that is encoded as JSON; returns the response, decoded. Raises RequestFailed.

        Without kubectl, whose start takes more CPU time than the request. As kubectl does, it tries again after a 429.
        """
        headers = {"Accept": accept, "Content-Type": content_type}
        encoded = None if body is None else msgspec.json.encode(body)
        admitted = partial(self._admitted, method, path, headers, encoded)
        try:
            response = until(admitted, what=f"{method} {path} to be admitted", every_seconds=1)
        except DeadlineExceeded as refused:
            raise RequestFailed(str(refused)) from refused
        if response.status not in (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED):
            raise RequestFailed(f"{method} {path}: {response.status}: {response.text}")
        return msgspec.json.decode(response.body)

    def _admitted(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> web.Response:
        response = self._connections.send(method, path, headers=headers, body=body)
        if response is None:
            raise RequestFailed(f"{method} {path}: no response")
        assert response.status != HTTPStatus.TOO_MANY_REQUESTS, response.text  # noqa: S101  for `until`
        return response

    @cached_property
    def administrator_tls(self) -> ssl.SSLContext:
        """A TLS context with a client certificate of group system:masters; it accepts any server's certificate."""
        pair = self._authority.client("admin", (MASTERS,))
        context = web.trusting(None)
        context.load_cert_chain(*pair.write(self.certificate_directory, "administrator"))
        return context


def _file_name(user: str) -> str:
    return "user-" + re.sub(r"[^A-Za-z0-9.-]", "_", user)
