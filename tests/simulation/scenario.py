"""A seed's scenario: which autoscalers there are, what load comes when, how long all of it lasts."""

import random

import msgspec

from scaler.api.kinds import LOAD_AUTOSCALERS, WatchedKind
from tests.simulation.fields import Fields
from tests.simulation.metrics_apis import CUSTOM, EXTERNAL, RESOURCE, UNITS_PER_REPLICA
from tests.simulation.timeline import EPOCH_UNIX_SECONDS
from tests.simulation.workloads import Curve, Pace

NAMESPACES = ("shop", "bank")
REPLICAS = ("scaler-a", "scaler-b")
# Wall clocks of the replicas differ by less than this, unless a fault steps them.
CLOCK_ERROR_SECONDS = 1.0


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """At most so much change within a period."""

    type: str
    value: int
    period_seconds: int


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """One direction of `behavior`."""

    window_seconds: int | None
    policies: tuple[Policy, ...]


class AutoscalerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One autoscaler, its target and the load on that."""

    namespace: str
    name: str
    min_replicas: int
    max_replicas: int
    groups: tuple[str, ...]
    """The metrics APIs that it asks: one metric of each."""
    up: Rules | None
    down: Rules | None
    load: Curve
    pace: Pace
    replicas: int
    """How many its target has at the start."""
    fields: Fields = Fields()
    by_adapter: bool = False
    """Whether the adapter serves its metrics, except those of the resource API."""

    @property
    def key(self) -> str:
        """`namespace/name`; the target has the same."""
        return f"{self.namespace}/{self.name}"

    @property
    def follows_a_queue(self) -> bool:
        """Whether its one metric is independent of how many replicas there are."""
        return self.groups == (EXTERNAL,)

    @property
    def has_behavior(self) -> bool:
        """Whether `spec.behavior` is set."""
        return self.up is not None and self.down is not None


AGGREGATOR, DIRECT, STREAMED = "aggregator", "direct", "streamed"


class AdapterPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How the adapter runs, and the Prometheus behind it."""

    scrape_seconds: float
    rules: str
    """One of `adapter_rules.BY_NAME`."""
    path: str
    """How the scaler reads its metrics: through the `AGGREGATOR`, `DIRECT` without a stream, or `STREAMED`."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """Everything but the faults. Times in seconds since the world's beginning."""

    seed: int
    period: float
    window: float
    """--downscale-stabilization."""
    lease_seconds: float
    concurrent: int
    autoscalers: tuple[AutoscalerPlan, ...]
    replicas: tuple[str, ...] = REPLICAS
    kind: WatchedKind = LOAD_AUTOSCALERS
    """--watch: the kind of the autoscalers."""
    is_sharded: bool = False
    """Whether the replicas share the namespaces, instead of standing by while one leads."""
    page_max: int = 10
    """The most objects in a page of a LIST; fewer than any client asks for, so that every LIST has pages."""
    clock_drift: float = 1e-4
    """By which share the monotonic clocks of the replicas are fast or slow at most."""
    epoch_unix_seconds: int = EPOCH_UNIX_SECONDS
    """The date and time of the world's beginning."""
    adapter: AdapterPlan | None = None
    """None: the model serves the metrics APIs."""
    added_faults: tuple[str, ...] = ()
    """Flags that add kinds of faults to those of the seed (`added_faults.py`)."""
    calm_at: float
    """From here on there are no faults, and soon the load keeps still."""
    end: float

    @property
    def is_streamed(self) -> bool:
        """Whether the adapter sends metrics without a request, so that the judge does not see which reconcile uses them."""
        return self.adapter is not None and self.adapter.path == STREAMED

    @property
    def reconciles(self) -> float:
        """How many there are, roughly: what a run of it costs."""
        return len(self.autoscalers) * self.end / self.period

    @property
    def renew_seconds(self) -> float:
        """--leader-elect-renew-deadline."""
        return self.lease_seconds * 2 / 3

    @property
    def retry_seconds(self) -> float:
        """--leader-elect-retry-period."""
        return self.lease_seconds * 2 / 15


def made_from(seed: int) -> Scenario:
    """The same for the same seed, always."""
    rng = random.Random(f"scenario {seed}")
    period = rng.choice((5.0, 10.0, 15.0, 15.0, 15.0))
    window = rng.choice((0.0, 60.0, 60.0, 120.0, 300.0))
    calm_at = rng.choice((240.0, 300.0, 450.0))
    count = rng.choice((1, 1, 2, 2, 3))
    autoscalers = tuple(autoscaler(rng, number, calm_at) for number in range(count))
    settling = max((settling_seconds(each, window) for each in autoscalers), default=0.0)
    return Scenario(
        seed=seed,
        period=period,
        window=window,
        lease_seconds=rng.choice((15.0, 60.0, 60.0, 60.0, 60.0)),
        concurrent=rng.choice((1, 2, 5, 20)),
        autoscalers=autoscalers,
        calm_at=calm_at,
        end=calm_at + 150.0 + settling + 10 * period,
    )


def autoscaler(rng: random.Random, number: int, calm_at: float) -> AutoscalerPlan:
    """One of the autoscalers, by its number."""
    groups = rng.choice(
        (
            (EXTERNAL,),
            (EXTERNAL,),
            (EXTERNAL,),
            (CUSTOM,),
            (RESOURCE,),
            (EXTERNAL, CUSTOM),
            (EXTERNAL, RESOURCE),
        )
    )
    to_zero = EXTERNAL in groups and rng.random() < 0.4
    low = 0 if to_zero else rng.choice((1, 1, 2, 3))
    high = low + rng.choice((1, 5, 10, 18))
    has_behavior = rng.random() < 0.6
    return AutoscalerPlan(
        namespace=NAMESPACES[number % 2],
        name=f"web{number}",
        min_replicas=low,
        max_replicas=high,
        groups=groups,
        up=_rules(rng, (0, 0, 30, 60), to_zero=to_zero) if has_behavior else None,
        down=_rules(rng, (None, 0, 60, 120), to_zero=False) if has_behavior else None,
        load=_curve(rng, high, calm_at),
        pace=Pace(start=rng.choice((0.5, 3.0, 12.0)), ready=rng.choice((0.5, 5.0, 20.0))),
        replicas=max(low, rng.randint(1, high)),
    )


def _rules(rng: random.Random, windows: tuple[int | None, ...], *, to_zero: bool) -> Rules:
    policies = tuple(
        Policy(type=type_, value=value, period_seconds=rng.choice((15, 30, 60)))
        for type_, value in (("Pods", rng.choice((2, 3, 5))), ("Percent", rng.choice((50, 100))))
        # Percents of nothing are nothing: without a policy in pods nothing ever leaves zero.
        if rng.random() < 0.6 or (to_zero and type_ == "Pods")
    )
    fallback = (Policy(type="Pods", value=4, period_seconds=15),)
    return Rules(window_seconds=rng.choice(windows), policies=policies or fallback)


def _curve(rng: random.Random, high: int, calm_at: float) -> Curve:
    """Steps between nothing and a little more than the most replicas can serve; the last is not nothing."""
    times, values = [0.0], [rng.uniform(0, high * UNITS_PER_REPLICA)]
    while times[-1] < calm_at:
        times.append(times[-1] + rng.choice((20, 60, 60, 150, 300)) * rng.uniform(0.5, 1.5))
        values.append(
            rng.choice((0.0, rng.uniform(0, 1.2), rng.uniform(0, 1.2))) * high * UNITS_PER_REPLICA
        )
    times[-1] = calm_at
    values[-1] = rng.uniform(0.2, 1.1) * high * UNITS_PER_REPLICA
    return Curve(times=tuple(times), values=tuple(values))


def settling_seconds(plan: AutoscalerPlan, window: float) -> float:
    """How long an undisturbed scaler may need at most from the last change of the load."""
    longest = window
    for rules in (plan.up, plan.down):
        if rules is None:
            continue
        held = window if rules.window_seconds is None else rules.window_seconds
        longest = max(longest, held + 4 * max(each.period_seconds for each in rules.policies))
    return longest + 60.0
