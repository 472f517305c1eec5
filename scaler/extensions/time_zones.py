"""Time zones by their names in the IANA database."""

from functools import lru_cache
from zoneinfo import ZoneInfo

# The limit of the CRDs; longer texts are not kept.
_NAME_LENGTH_MAX = 64


def time_zone(name: str) -> ZoneInfo:
    """The zone of a name of the IANA time zone database, such as Europe/Berlin. Raises ValueError."""
    found = _zone(name) if len(name) <= _NAME_LENGTH_MAX else None
    if found is None:
        raise ValueError(
            f"unknown time zone {name!r}: use a name of the IANA database, such as Europe/Berlin or UTC"
        )
    return found


@lru_cache(1_024)
def _zone(name: str) -> ZoneInfo | None:
    """None if there is none: to find that out takes longer than to read one."""
    try:
        return ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        return None
