"""Self-contained kubeconfig files: certificates and keys are embedded."""

import base64
from pathlib import Path

import msgspec

from testbed.certificates import KeyPair


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def write(
    path: Path, *, server: str, authority: bytes, user: KeyPair | str, namespace: str = "default"
) -> Path:
    """Write a kubeconfig for `user`: a client certificate, or a bearer token. Returns `path`.

    Written as JSON, which is valid YAML.
    """
    if isinstance(user, str):
        credentials = {"token": user}
    else:
        credentials = {
            "client-certificate-data": _base64(user.certificate),
            "client-key-data": _base64(user.key),
        }
    cluster = {"server": server, "certificate-authority-data": _base64(authority)}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": cluster}],
        "users": [{"name": "testbed", "user": credentials}],
        "contexts": [
            {
                "name": "testbed",
                "context": {"cluster": "testbed", "user": "testbed", "namespace": namespace},
            }
        ],
        "current-context": "testbed",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content)))
    return path
