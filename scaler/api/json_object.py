"""The base of every struct that is part of an object of the Kubernetes API."""

import msgspec


class JsonObject(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Go's `omitempty`: a field that equals its default is omitted."""
