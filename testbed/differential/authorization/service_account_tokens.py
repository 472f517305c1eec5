"""ServiceAccount tokens signed with the cluster's own key, including ones that kube-apiserver would not issue."""

import base64
from typing import Any

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from testbed.cluster import Cluster

ISSUER = "https://kubernetes.default.svc"
COORDINATE_BYTES = 32  # of P-256 (RFC 7518)


def signed(
    cluster: Cluster, namespace: str, account: str, *, issued_at: int, expires_at: int
) -> str:
    """A token as in a TokenRequest's response, with these times (Unix seconds)."""
    uid = cluster.get(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}")["metadata"][
        "uid"
    ]
    claims = {
        "iss": ISSUER,
        "aud": [ISSUER],
        "sub": f"system:serviceaccount:{namespace}:{account}",
        "iat": issued_at,
        "nbf": issued_at,
        "exp": expires_at,
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": account, "uid": uid}},
    }
    text = f"{_part({'alg': 'ES256', 'typ': 'JWT'})}.{_part(claims)}"
    pem = (cluster.certificate_directory / "service-account.key").read_bytes()
    key = load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("the cluster signs its tokens with another kind of key")
    pair = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{_base64(b''.join(n.to_bytes(COORDINATE_BYTES, 'big') for n in pair))}"


def _part(content: dict[str, Any]) -> str:
    return _base64(msgspec.json.encode(content))


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
