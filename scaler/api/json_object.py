"""The base of every struct that is part of an object of the Kubernetes API.

Such an object has no reference that leads back to it, so the garbage collector need not check it (`gc=False`), and it takes 16
bytes less. The same holds for most other structs that are kept for each autoscaler or pod.
"""

import msgspec


class JsonObject(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False
):
    """Go's `omitempty`: a field that equals its default is omitted."""
