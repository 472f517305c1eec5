"""APIServices: which Service serves an API group and version, and how kube-apiserver verifies it."""

import base64
import binascii
from typing import Final

import msgspec

from wire.kube.metadata_only import NameAndLabels

PATH: Final = "/apis/apiregistration.k8s.io/v1/apiservices"


class ServiceReference(msgspec.Struct, frozen=True):
    """The Service of an APIService."""

    namespace: str = ""
    name: str = ""
    port: int = 0  # 0: 443


class APIServiceSpec(msgspec.Struct, frozen=True, rename="camel"):
    """How kube-apiserver reaches and verifies an aggregated API server."""

    service: ServiceReference | None = None
    ca_bundle: str = ""
    insecure: bool = msgspec.field(default=False, name="insecureSkipTLSVerify")


class Condition(msgspec.Struct, frozen=True):
    """Of an APIService."""

    type: str = ""
    status: str = ""


class APIServiceStatus(msgspec.Struct, frozen=True):
    """What kube-apiserver says of the Service."""

    conditions: tuple[Condition, ...] = ()


class APIService(msgspec.Struct, frozen=True):
    """The fields of an `apiregistration.k8s.io/v1` APIService that are read here."""

    metadata: NameAndLabels
    spec: APIServiceSpec
    status: APIServiceStatus = APIServiceStatus()

    @property
    def is_available(self) -> bool:
        """Whether kube-apiserver reaches the Service."""
        return Condition("Available", "True") in self.status.conditions

    def accepts(self, certificate: bytes) -> bool:
        """Whether kube-apiserver accepts this certificate (PEM)."""
        return self.spec.insecure or certificate in self.trusted_pem

    @property
    def trusted_pem(self) -> bytes:
        """The caBundle, decoded; empty if it cannot be."""
        try:
            return base64.b64decode(self.spec.ca_bundle)
        except binascii.Error:
            return b""
