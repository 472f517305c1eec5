"""Objects of any kind without their spec and status, as an API server sends them if the client asks for it."""

import msgspec

from wire.kube.requests import JSON

METADATA_LIST = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON}"
METADATA_OBJECT = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"


class NameAndLabels(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Metadata without annotations and owners, which are the bulk of it."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}


class PartialObject(msgspec.Struct, frozen=True, gc=False):
    """Name and labels of an object of any kind."""

    metadata: NameAndLabels
