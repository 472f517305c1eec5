"""The additional fields of a LoadAutoscaler that a scenario sets."""

import msgspec


class LocalStart(msgspec.Struct, frozen=True, kw_only=True):
    """When a schedule begins, as its user writes it."""

    time_zone: str
    start: str
    """A local time; the first one of a daily schedule."""
    is_daily: bool = False

    @property
    def cron(self) -> str:
        """The time of the day as a cron expression."""
        hour, minute, _ = self.start.partition("T")[2].split(":")
        return f"{int(minute)} {int(hour)} * * *"


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule that is active once, or from several begins. Whole seconds since the world's beginning."""

    begin: int
    seconds: int
    min_replicas: int
    max_replicas: int
    local: LocalStart | None = None
    """None: in UTC, from `begin`."""
    more_begins: tuple[int, ...] = ()
    """Further ones of a daily schedule."""

    @property
    def periods(self) -> tuple[tuple[int, int], ...]:
        """Each with its begin and its end."""
        return tuple((each, each + self.seconds) for each in (self.begin, *self.more_begins))

    @property
    def changes(self) -> tuple[int, ...]:
        """When it begins or ends to apply."""
        return tuple(each for period in self.periods for each in period)

    @property
    def end(self) -> int:
        """When it is over."""
        return self.begin + self.seconds


class Suspension(msgspec.Struct, frozen=True, kw_only=True):
    """`spec.suspend`, from the beginning. `until` is in whole seconds since the world's beginning."""

    direction: str
    until: int
    replicas: int | None = None


class Fallback(msgspec.Struct, frozen=True, kw_only=True):
    """The fallback of the first metric."""

    type: str
    failure_seconds: int
    replicas: int = 0
    age_seconds_max: int = 0

    @property
    def proposes(self) -> bool:
        """Whether a metric that has failed for long enough counts like one that was read."""
        return self.type in ("Replicas", "LastValue")


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """Those that are set."""

    sync_period_seconds: int | None = None
    is_dry_run: bool = False
    suspension: Suspension | None = None
    cooldown_seconds: int | None = None
    activation: int | None = None
    fallback: Fallback | None = None
    is_formula: bool = False
    panic_hold_seconds: int | None = None
    ready_timeout_seconds: int | None = None
    deletes_least_busy: bool = False
    rollout: str = ""
    window: Window | None = None
    is_by_calendar: bool = False
    forecast: str = ""
    """Add, DryRun, or Suspended: it may add, but has wasted too much."""
    has_candidate: bool = False
    """A candidate with half of the decision, which wants half of the replicas."""
    aborts_above: int | None = None
    """It is aborted when the load is above that."""

    def sets_more_than(self, *names: str) -> bool:
        """Whether one is set besides these and the period."""
        but_these = {name: getattr(_UNSET, name) for name in ("sync_period_seconds", *names)}
        return msgspec.structs.replace(self, **but_these) != _UNSET

    @property
    def decides_on_activity(self) -> bool:
        """Whether zero and one depend on the activation value."""
        return self.cooldown_seconds is not None or self.activation is not None


_UNSET = Fields()
