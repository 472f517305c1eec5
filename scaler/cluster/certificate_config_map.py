"""The ConfigMap with the serving certificates of the scaler's replicas, from which `kubectl loadline` reads what to verify them with."""

from typing import Final

import msgspec

from wire.kube.metadata_only import NameAndLabels

BUNDLE_KEY: Final = "ca.crt"


class CertificateConfigMap(msgspec.Struct, frozen=True):
    """The fields of the ConfigMap that are read."""

    metadata: NameAndLabels
    data: dict[str, str] = {}
