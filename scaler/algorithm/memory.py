"""What an autoscaler remembers between reconciles: immutable, and stored as it is in `status.history`."""

import msgspec

from scaler.extensions.forecast.state import Forecast


class _Stored(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The same fields in memory and in the status of a LoadAutoscaler."""


class Recommendation(_Stored, frozen=True, kw_only=True):
    """One step: the metrics recommended `replicas`, first at `since` and last at `until`.

    `replicas` is the count before stabilization, rates and bounds. Only `until` decides anything.
    """

    replicas: int
    since_unix_seconds: float
    until_unix_seconds: float


class ScaleEvent(_Stored, frozen=True, kw_only=True):
    """A change of the scale that was carried out; `outdated` marks a slot that the next event may reuse.

    `may_be_older`: the time is the latest possible one. Then the event uses up the policies of its own direction,
    and gives nothing back to those of the other.
    """

    replica_change: int
    happened_at_unix_seconds: float
    outdated: bool = False
    may_be_older: bool = False


class UnconfirmedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A write of the scale that got no answer, so it is not known whether it was applied."""

    before: int
    after: int
    sent_at_unix_seconds: float


class MetricRecord(_Stored, frozen=True, kw_only=True):
    """What is remembered of a metric that has a fallback. The times are None for never."""

    name: str
    failing_since_unix_seconds: float | None = None
    last_value_milli: int | None = None
    measured_at_unix_seconds: float | None = None


class PanicMemory(_Stored, frozen=True, kw_only=True):
    """A panic: when the threshold was last reached, and the highest count so far."""

    over_at_unix_seconds: float
    highest: int


class PanicSample(msgspec.Struct, frozen=True, kw_only=True):
    """One recommendation of the panic window."""

    replicas: int
    made_at_unix_seconds: float


class ExtensionMemory(_Stored, frozen=True, kw_only=True):
    """What is remembered for the fields that only a LoadAutoscaler has."""

    inactive_since_unix_seconds: float | None = None
    """Since when no metric is above its activation value; None while one is."""
    metrics: tuple[MetricRecord, ...] = ()
    """One record for each metric with a fallback."""
    panic: PanicMemory | None = None


class CandidateMemory(_Stored, frozen=True, kw_only=True):
    """How far a candidate has come, and what its own decisions remember.

    `hash` identifies it. `held_seconds`: for how long its step has been held, up to `held_at_unix_seconds`.
    `breached_since_unix_seconds`: of each condition of `abortWhen`, None while it does not apply. `aborted`: why it was.
    """

    hash: str
    step: int = 0
    held_seconds: float = 0.0
    held_at_unix_seconds: float = 0.0
    breached_since_unix_seconds: tuple[float | None, ...] = ()
    aborted: str = ""
    recommendations: tuple[Recommendation, ...] | None = None
    scale_up_events: tuple[ScaleEvent, ...] = ()
    scale_down_events: tuple[ScaleEvent, ...] = ()
    extensions: ExtensionMemory | None = None


NOTHING_REMEMBERED = ExtensionMemory()


class History(_Stored, frozen=True, kw_only=True):
    """Recommendations, oldest first, and scale events, in upstream's slot order.

    `recommendations is None` means that this autoscaler was never reconciled: the first reconcile then records
    the current count, so that the target does not shrink below it for the length of the window.
    """

    recommendations: tuple[Recommendation, ...] | None = None
    scale_up_events: tuple[ScaleEvent, ...] = ()
    scale_down_events: tuple[ScaleEvent, ...] = ()
    scaled_to_zero: bool = False
    """Whether the controller set the replicas to 0, or is about to; the condition ScaledToZero says it too,
    but only once the status was written."""
    extensions: ExtensionMemory | None = None
    """None while no field of the spec needs it."""
    forecast: str = ""
    """The digest of a forecast; see `scaler.extensions.forecast.digest`."""
    candidate: CandidateMemory | None = None


class Memory(History, frozen=True, kw_only=True):
    """What this process remembers. Only the history is stored."""

    unconfirmed: UnconfirmedChange | None = None
    panic_samples: tuple[PanicSample, ...] = ()
    forecast_state: Forecast | None = None
    """None before the first reconcile with a forecast, and after a restart."""


class StoredMemory(Memory, frozen=True, kw_only=True):
    """A memory as another process left it; `normalize.restart.restored` continues it.

    `known_replicas`: the desired and the current count in the status. After a rescale the first one is the count
    that the process set; after a reconcile without a result, the second one is what it read.
    """

    known_replicas: tuple[int, ...] = ()
