"""Whether there is anything to do for a target."""

import msgspec


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the metrics that are active, and whether one is not known, which may be active."""

    active: tuple[str, ...] = ()
    unknown: bool = False
