"""The state of one forecast: immutable, and kept in the process. Its digest is stored with the history.

Times are whole minutes since 1970. `scaler.extensions.forecast` makes one state from another.
"""

import msgspec

from scaler.extensions.forecast.choice import Shares
from scaler.extensions.forecast.features import OFFSET_MIN
from scaler.extensions.forecast.load_levels import NO_LEVELS, Floats, Levels
from scaler.extensions.forecast.quantiles import START, Model

LEARNING = "Learning"
RELIABLE = "Reliable"


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """A metric as the load of the whole target, and how much of it one replica is to have, in the metric's unit."""

    total: float
    per_replica: float


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """The load of a minute, and what a forecast for it has to know beside its state.

    `needed`: the replicas for this load. `alone`: those that the metric alone has. `most`: the maximum. `lags`: how many
    minutes ago it was this time one day ago, two days ago, and so on.
    """

    minute: int
    load: Load
    needed: int
    alone: int
    most: int
    budget_percent: float
    lags: tuple[int, ...]


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """Replica-minutes."""

    alone: float = 0.0
    added: float = 0.0
    useful: float = 0.0
    minutes: int = 0

    @property
    def wasted_percent(self) -> float:
        """Of the replicas without the forecast."""
        return 100.0 * (self.added - self.useful) / max(self.alone, 1.0)

    @property
    def useful_percent(self) -> float:
        """Of the replicas that were added."""
        return 100.0 * self.useful / self.added if self.added else 100.0


NOTHING_SUMMED = Sums()


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The intervals of the last day, oldest first, and the one that is being summed.

    `burst`: the replica-minutes of `day.alone` that earn no budget, because they are those of a burst.
    """

    intervals: tuple[Sums, ...] = ()
    current: Sums = NOTHING_SUMMED
    day: Sums = NOTHING_SUMMED
    burst: float = 0.0


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """`reason` is that of the condition ForecastReliable; `message` has the numbers of the moment it changed."""

    reason: str = LEARNING
    message: str = ""

    @property
    def is_reliable(self) -> bool:
        """Whether the forecast may add replicas."""
        return self.reason == RELIABLE

    @property
    def counts_as_acting(self) -> bool:
        """Whether its outcomes are those of a forecast that acts: while it learns, they decide whether it will."""
        return self.reason in (RELIABLE, LEARNING)


class Issued(msgspec.Struct, frozen=True, kw_only=True):
    """A forecast whose outcome is not known yet, and the replicas that were decided by it.

    `bound`: the load that was expected within the lead at most. `minutes`: until the next value, so far as is known. `present`: the replicas that the metric alone wants, `by_model` those that the
    quantiles want, and `by_days` those for what most days had. `alone`: what was decided without the forecast; `final`: with it; `needed`: by the load of this minute.
    """

    minute: int
    lead_minutes: int
    minutes: int = 1
    features: Floats | None = None
    bound: float | None = None
    present: int
    by_model: int
    by_days: int
    needed: int
    alone: int = 0
    final: int = 0


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """How many minutes of load were learned from recorded history, and the last of them."""

    minutes: int
    end_minute: int


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """What is known after the last whole minute."""

    identity: str
    """The metric and the lead: with others, everything is learned again."""
    lead_minutes: int
    levels: Levels = NO_LEVELS
    offset: float = OFFSET_MIN
    highest: float = 0.0
    summary_minute: int = 0
    """When `offset` and `highest` were computed from the levels."""
    model: Model = START
    shares: Shares = Shares()
    margin: float = 0.0
    """Of the bound, as a logarithm."""
    issued: tuple[Issued, ...] = ()
    outcomes: Outcomes = Outcomes()
    verdict: Verdict = Verdict()
    bound: float | None = None
    """The load that is expected within the lead at most, in the metric's unit; None if the present load is not known."""
    wanted: int | None = None
    """The replicas with the forecast, as far as it is followed; None without a bound."""
    alone_by_minute: tuple[int, ...] = ()
    """What the metric would have set without the forecast, in the minutes of the scale-down window."""
    digest_minute: int = 0
    recorded: Recorded | None = None
    """None if everything was learned from readings."""

    @property
    def wants_recorded_load(self) -> bool:
        """Whether recorded history would make it usable earlier: it still learns, and has used none."""
        return self.verdict.reason == LEARNING and self.recorded is None


class ForecastMemory(msgspec.Struct, frozen=True, kw_only=True):
    """The state, and its digest of at most an hour ago, which is stored; see `scaler.extensions.forecast.digest`."""

    state: Forecast
    digest: str = ""


class ForecastStep(msgspec.Struct, frozen=True, kw_only=True):
    """What a forecast added, or would have added: `before` and `after` are replicas, after stabilization.

    `load` and `bound` are in the metric's unit; `bound` is the load that is expected within `lead_seconds` at most, and `floor` the
    replicas that are wanted for it, None without a bound; `present` is what the metric alone wants now. `allowed_extra`:
    how many more replicas the budget allows. `budget_used`: the share of the budget of 24 hours.
    """

    metric: str
    acts: bool
    is_dry_run: bool
    lead_seconds: float
    load: float | None = None
    bound: float | None = None
    floor: int | None = None
    present: float = 0.0
    before: int
    after: int
    verdict: Verdict
    day: Sums
    allowed_extra: int = 0
    budget_used: float = 0.0
    replayed_minutes: int = 0
    """How many of the minutes of `day` are of recorded history, which the scaler has not read itself."""


class WarmStart(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the recorded load of one metric: the state that it led to, or why there is none."""

    state: Forecast | None = None
    per_replica: float = 0.0
    """The load that one replica is to have."""
    problem: str | None = None


def moved(state: Forecast, minutes: int) -> Forecast:
    """The same load at the same ages, on a wall clock that was set forward by so many minutes."""
    levels, recorded = state.levels, state.recorded
    return msgspec.structs.replace(
        state,
        levels=msgspec.structs.replace(levels, end_minute=levels.end_minute + minutes),
        issued=tuple(
            msgspec.structs.replace(each, minute=each.minute + minutes) for each in state.issued
        ),
        summary_minute=state.summary_minute + minutes,
        recorded=recorded
        and msgspec.structs.replace(recorded, end_minute=recorded.end_minute + minutes),
        # What was stored has the minutes of the other clock.
        digest_minute=0,
    )
