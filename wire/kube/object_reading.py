"""The objects of a LIST or a WATCH as a cache keeps them: decoded, and converted by the caller.

An object that cannot be read must not hide the others, nor stop the cache. Whatever is wrong with it is logged once for each of its
versions: it is sent again with every LIST.
"""

import logging
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import msgspec

from wire.api import kube_json
from wire.api.meta import NameAndVersion

# Of how many objects it is known that they were logged. With more, some are logged again.
LOGGED_MAX = 1000

log = logging.getLogger(__name__)


class Metadata(Protocol):
    """The metadata that a cache reads; `wire.api.meta.ObjectMeta` has it."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def resource_version(self) -> str: ...


class HasMetadata(Protocol):
    """A Kubernetes object."""

    @property
    def metadata(self) -> Metadata: ...


class Part(Protocol):
    """Some namespaces, which may change."""

    def __contains__(self, namespace: str) -> bool: ...


T = TypeVar("T", bound=HasMetadata)


class _Named(msgspec.Struct, frozen=True):
    metadata: NameAndVersion


def metadata_of(raw: msgspec.Raw) -> NameAndVersion | None:
    """Which object this is; None if not even that can be decoded."""
    try:
        return kube_json.decode(raw, _Named).metadata
    except msgspec.DecodeError:
        return None


def version_of(raw: msgspec.Raw) -> str:
    """The resourceVersion of an object; empty if not even that can be decoded."""
    metadata = metadata_of(raw)
    return "" if metadata is None else metadata.resource_version


class ObjectReader(Generic[T]):
    """Reads the objects of one collection."""

    def __init__(
        self,
        path: str,
        decode_type: type[T],
        convert: Callable[[T], T] | None,
        part: Part | None,
        *,
        on_crash: Callable[[], object],
    ) -> None:
        """`convert` raises `msgspec.ValidationError` for an object that is not to be kept; `on_crash` is called for every other exception
        of it, which is a bug. `part`: the namespaces of its objects; None for all."""
        self._path = path
        self._decode_type = decode_type
        self._convert = convert
        self._part = part
        self._on_crash = on_crash
        self._logged: dict[NameAndVersion | None, str] = {}

    def version_elsewhere(self, raw: msgspec.Raw) -> str | None:
        """The resourceVersion of an object that is not in the part; None for one that is, or that cannot be read."""
        metadata = None if self._part is None else metadata_of(raw)
        if self._part is None or metadata is None or metadata.namespace in self._part:
            return None
        return metadata.resource_version

    def read(self, raw: msgspec.Raw) -> T | None:
        """The object to keep; None if it cannot be read."""
        try:
            decoded = kube_json.decode(raw, self._decode_type)
            return decoded if self._convert is None else self._convert(decoded)
        except msgspec.DecodeError as error:
            self._log(raw, "cannot be decoded", error, has_traceback=False)
            return None
        except Exception as error:
            self._on_crash()
            self._log(raw, "cannot be converted, which is a bug", error, has_traceback=True)
            return None

    def _log(
        self, raw: msgspec.Raw, problem: str, error: Exception, *, has_traceback: bool
    ) -> None:
        metadata, text = metadata_of(raw), repr(error)
        if self._logged.get(metadata) == text:
            return
        if len(self._logged) >= LOGGED_MAX:
            self._logged.clear()
        self._logged[metadata] = text
        log.log(
            logging.ERROR if has_traceback else logging.WARNING,
            "%s: object %s %s; its previous version, if any, stays in use: %s",
            self._path,
            f"{metadata.namespace}/{metadata.name}".lstrip("/") if metadata else "(without a name)",
            problem,
            # The exception itself refers to the object.
            str(error),
            exc_info=error if has_traceback else None,
        )
