"""What an autoscaler remembers between two looks; immutable, and plain enough to be stored."""

import msgspec


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """A count that the metrics asked for, before stabilization, limits and bounds."""

    replicas: int
    made_at_unix_seconds: float


class ScaleEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A change that was carried out; `outdated` marks a slot that the next event may take."""

    replica_change: int
    happened_at_unix_seconds: float
    outdated: bool = False


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Recommendations and scale events of one autoscaler, in upstream's slot order.

    `recommendations is None` means never seen before: the first look then records the current
    count, so that nothing shrinks below it for the length of the window.
    """

    recommendations: tuple[Recommendation, ...] | None = None
    scale_up_events: tuple[ScaleEvent, ...] = ()
    scale_down_events: tuple[ScaleEvent, ...] = ()
