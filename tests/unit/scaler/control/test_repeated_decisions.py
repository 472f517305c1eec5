"""A decision that is not computed again is the one that would have been: the same writes, events and derivations."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Container, Pod, PodCondition, PodSpec, PodStatus
from scaler.algorithm.observed import ResourceRequirements as Resources
from scaler.algorithm.readings import ExternalValues, MetricFailed, PodSample, PodSamples, Reading
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.extensions.schedules.stage import Searched
from tests.unit.scaler.control.test_restart_properties import Stored, behaviors
from tests.unit.scaler.control.world import KEY, METRIC, NOW_SECONDS, SPEC, World, autoscaler
from wire.api.labels import parse
from wire.api.meta import ObjectMeta, time_from_unix

BOTH_KINDS = pytest.mark.parametrize("kind", [HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS])
PERIOD_SECONDS = 15
PODS = 4
Document = dict[str, Any]


def repeated(world: World) -> int:
    """How many decisions were not computed again."""
    return int(world.telemetry.repeated_decisions_total._value.get())


def at(seconds: float) -> str:
    """A time of the spec, so many seconds after the start."""
    return datetime.fromtimestamp(NOW_SECONDS + seconds, UTC).isoformat()


# Edges soon enough that a history passes them.
soon = st.sampled_from([0, 20, 45, 60, 90, 200, 310])
EXTERNAL = {"type": "External", "name": "queue", "external": METRIC}
FORMULA = {
    "type": "Formula",
    "name": "load",
    "formula": {
        "expression": "queue * 1.5",
        "target": {"type": "AverageValue", "averageValue": "10"},
    },
}
external = st.fixed_dictionaries(
    {"type": st.just("External"), "external": st.just(METRIC)},
    optional={
        "name": st.just("queue"),
        "activationValue": st.sampled_from(["0", "15"]),
        "fallback": st.fixed_dictionaries(
            {"type": st.sampled_from(["Hold", "Replicas", "LastValue", "Fail"])},
            optional={"failureDurationSeconds": soon, "replicas": st.just(4)},
        ),
    },
)
cpu = st.just(
    {
        "type": "Resource",
        "resource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 50},
        },
    }
)
schedules = st.builds(
    lambda begin, duration, ramp, low: [
        {
            "name": "peak",
            "dates": [at(begin).removesuffix("+00:00")],
            "durationSeconds": duration,
            "rampSeconds": ramp,
            "minReplicas": low,
        }
    ],
    soon,
    st.sampled_from([60, 120]),
    st.sampled_from([0, 30]),
    st.integers(1, 5),
)
of_both_kinds = st.fixed_dictionaries(
    {"metrics": st.builds(lambda one: [one], st.one_of(external, cpu))},
    optional={"behavior": behaviors.filter(bool), "minReplicas": st.integers(1, 3)},
)
of_a_loadautoscaler = st.fixed_dictionaries(
    {},
    optional={
        "minReplicas": st.just(0),
        "mode": st.just("DryRun"),
        "podSelection": st.just("Owned"),
        "suspend": st.builds(
            lambda until, way: {"until": at(until), "direction": way},
            soon,
            st.sampled_from(["Both", "Up", "Down"]),
        ),
        "scaleToZero": st.builds(lambda seconds: {"cooldownSeconds": seconds}, soon),
        "podReadiness": st.builds(
            lambda seconds, rollout, requests: {
                "cpuInitializationPeriodSeconds": seconds,
                "rollout": rollout,
                "requests": requests,
            },
            soon,
            st.sampled_from(["Count", "IgnoreSurge", "HoldUp", "HottestRevision"]),
            st.sampled_from(["Desired", "Actual"]),
        ),
        "metrics": st.just([{**EXTERNAL, "use": "Input"}, FORMULA]),
        "forecast": st.sampled_from([{"metric": "queue"}, {"metric": "queue", "mode": "DryRun"}]),
        "candidate": st.fixed_dictionaries(
            {"behavior": behaviors.filter(bool)},
            optional={
                "steps": st.builds(
                    lambda seconds: [
                        {"weightPercent": 50, "holdSeconds": seconds},
                        {"weightPercent": 100, "holdSeconds": 60},
                    ],
                    soon,
                ),
                "abortWhen": st.builds(
                    lambda seconds: [
                        {"metric": METRIC["metric"], "above": "25", "forSeconds": seconds}
                    ],
                    soon,
                ),
            },
        ),
        "schedules": schedules,
        "behavior": st.sampled_from(
            [
                {"scaleUp": {"panic": {"windowSeconds": 60, "holdSeconds": 60}}},
                {"scaleUp": {"futility": {"readyTimeoutSeconds": 60, "maxUnreadyReplicas": 1}}},
            ]
        ),
    },
)

# What happens between two reconciles; most often nothing.
happenings = st.one_of(
    st.just(("nothing", 0)),
    st.just(("nothing", 0)),
    st.just(("nothing", 0)),
    st.tuples(st.just("load"), st.sampled_from([0, 10, 20, 30, 80])),
    st.tuples(st.just("load"), st.sampled_from([0, 10, 20, 30, 80])),
    st.tuples(st.just("outage"), st.just(0)),
    st.tuples(st.just("user scales"), st.integers(0, 6)),
    st.tuples(st.just("user edits"), st.integers(1, 9)),
    st.tuples(st.just("pod starts"), st.integers(0, PODS - 1)),
    st.tuples(st.just("pod is not ready"), st.integers(0, PODS - 1)),
    st.tuples(st.just("pod has a new revision"), st.integers(0, PODS - 1)),
    st.tuples(st.just("clock steps"), st.sampled_from([-100, -1, 0.3, 1, 100])),
    st.tuples(st.just("restart"), st.just(0)),
    st.tuples(st.sampled_from(["other on the pods", "other on the target"]), st.booleans()),
)
memory_store = st.lists(
    st.tuples(happenings, st.integers(1, 8), st.sampled_from([PERIOD_SECONDS, 7, 31])),
    min_size=3,
    max_size=14,
)


OTHER = autoscaler(metadata={"namespace": "shop", "name": "other"})


class Lockstep:
    """The same history with and without decisions that are kept; without copies of the Scale none is."""

    def __init__(self, spec: Document, kind: Any) -> None:
        found = autoscaler(spec={**SPEC, **spec})
        self.worlds = [
            World(
                object=found,
                kind=kind,
                copies=copies,
                memory_store=None if kind.keeps_history else Stored(),
            )
            for copies in (True, False)
        ]
        self.load: int | None = 20
        self.started = [-10_000.0] * PODS
        self.not_ready_since: dict[int, float] = {}
        self.revisions = ["a"] * PODS
        # A pod stays the same object until it changes, as in a watch cache.
        self.pods = tuple(map(self.pod, range(PODS)))
        self.is_cpu = spec["metrics"][0]["type"] == "Resource"
        for world in self.worlds:
            world.scaled(2)

    def happen(self, what: str, value: float) -> None:
        match what:
            case "load":
                self.load = int(value)
            case "outage":
                self.load = None
            case "pod starts":
                self.started[int(value)] = self.worlds[0].now_seconds - NOW_SECONDS
                self.not_ready_since.pop(int(value), None)
            case "pod is not ready":
                self.not_ready_since[int(value)] = self.worlds[0].now_seconds
            case "pod has a new revision":
                self.revisions[int(value)] = "b"
        for world in self.worlds:
            self.happen_in(world, what, value)

    def happen_in(self, world: World, what: str, value: float) -> None:
        match what:
            case "user scales":
                world.scaled(int(value))
            case "user edits":
                world.edit(maxReplicas=max(value, SPEC["minReplicas"]))
            case "clock steps":
                world.now_seconds += value
            case "restart":
                world.restart()
            case "other on the pods" if value:
                world.selectors.appear("shop/other")
                world.selectors.store("shop/other", parse("app=web"))
            case "other on the pods":
                world.selectors.disappear("shop/other")
            case "other on the target":
                changes = (None, OTHER) if value else (OTHER, None)
                world.rivals.follow(world.kind.kind)(*changes)

    async def sync(self, seconds: float, *, are_shared: bool) -> None:
        now = map(self.pod, range(PODS))
        self.pods = tuple(
            old if old == new else new for old, new in zip(self.pods, now, strict=True)
        )
        for world in self.worlds:
            world.pods.pods = self.pods
            world.measurements.are_shared = are_shared
            world.passes(seconds)
            await world.reconcile_and_keep([self.reading(world)])

    def pod(self, number: int) -> Pod:
        started = time_from_unix(NOW_SECONDS + self.started[number])
        not_ready_since = self.not_ready_since.get(number)
        ready = PodCondition(
            type="Ready",
            status="True" if not_ready_since is None else "False",
            last_transition_time=started
            if not_ready_since is None
            else time_from_unix(not_ready_since),
        )
        return Pod(
            metadata=ObjectMeta(
                name=f"web-{number}",
                namespace="shop",
                labels={"app": "web", "pod-template-hash": self.revisions[number]},
            ),
            spec=PodSpec(
                containers=(Container(name="app", resources=Resources(requests={"cpu": "1"})),)
            ),
            status=PodStatus(
                phase="Running",
                start_time=started,
                conditions=(ready,),
            ),
        )

    def reading(self, world: World) -> Reading:
        if self.load is None:
            return MetricFailed("unable to fetch metrics from external metrics API: down")
        if not self.is_cpu:
            return ExternalValues((self.load * 1000,))
        # The samples have the time of the last change, as those of an API that is seldom scraped.
        sample = PodSample(
            value_milli=self.load * 20, sampled_at_unix_seconds=NOW_SECONDS, window_seconds=15
        )
        return PodSamples({f"web-{number}": sample for number in range(PODS)})

    def check(self) -> None:
        kept, computed = self.worlds
        assert kept.replicas == computed.replicas
        assert kept.kube.put == computed.kube.put
        assert kept.reported() == computed.reported()
        assert kept.reconciler.derivation(KEY) == computed.reconciler.derivation(KEY)

    async def check_memories(self) -> None:
        kept, computed = self.worlds
        [one, other] = [
            await world.reconciler._memories.of(
                world.reconciler._records[KEY], world.autoscalers.by_key[KEY]
            )
            for world in (kept, computed)
        ]
        # Steps that no window needs are forgotten by the next decision.
        assert one.recommendations
        assert other.recommendations
        assert set(other.recommendations) <= set(one.recommendations)
        assert _compared(one, other.recommendations) == _compared(other, other.recommendations)


def _compared(memory: Memory, recommendations: Any) -> Memory:
    """Two `Searched` are never equal, so what they hold is compared."""
    states = {
        name: msgspec.structs.astuple(state) if isinstance(state, Searched) else state
        for name, state in memory.states.items()
    }
    return msgspec.structs.replace(memory, recommendations=recommendations, states=states)


async def run(spec: Document, kind: Any, history: list[Any], *, are_shared: bool) -> Lockstep:
    both = Lockstep(spec, kind)
    for (what, value), syncs, seconds in history:
        both.happen(what, value)
        for _ in range(syncs):
            await both.sync(seconds, are_shared=are_shared)
            both.check()
    await both.check_memories()
    return both


many_histories = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


STEADY = [(("load", 20), 30, PERIOD_SECONDS)]
QUEUE: Document = {"metrics": [{"type": "External", "external": METRIC}]}
# The first recommendation still counts after exactly five minutes, and no longer a moment after them.
WINDOW_ENDS_AT_A_RECONCILE = [(("load", 0), 30, PERIOD_SECONDS)]
# The failure stores the memory, which must not have steps that the decisions of the last minutes would have forgotten.
OUTAGE_AFTER_A_WINDOW = [
    (("nothing", 0), 1, PERIOD_SECONDS),
    (("load", 30), 10, 31),
    (("outage", 0), 1, PERIOD_SECONDS),
]


@BOTH_KINDS
@many_histories
@example(spec=QUEUE, extension={}, history=OUTAGE_AFTER_A_WINDOW, are_shared=False)
@example(spec=QUEUE, extension={}, history=WINDOW_ENDS_AT_A_RECONCILE, are_shared=False)
@given(
    spec=of_both_kinds,
    extension=of_a_loadautoscaler,
    history=memory_store,
    are_shared=st.booleans(),
)
def test_kept_decisions_change_no_write_no_event_and_no_derivation(
    kind, spec, extension, history, are_shared
):
    if kind is LOAD_AUTOSCALERS:
        spec = {**spec, **extension}
    asyncio.run(run(spec, kind, history, are_shared=are_shared))


STEPS = [{"weightPercent": 50, "holdSeconds": 60}, {"weightPercent": 100, "holdSeconds": 60}]
ABORT = [{"metric": METRIC["metric"], "above": "25", "forSeconds": 45}]
ROLLOUT = [(("load", 80), 3, PERIOD_SECONDS), (("pod has a new revision", 0), 30, PERIOD_SECONDS)]
HIGH_LOAD = [(("load", 20), 8, PERIOD_SECONDS), (("load", 30), 30, PERIOD_SECONDS)]


@pytest.mark.parametrize("are_shared", [True, False])
@pytest.mark.parametrize(
    ("extension", "history"),
    [
        pytest.param({"forecast": {"metric": "queue"}}, STEADY, id="forecast"),
        pytest.param({"metrics": [{**EXTERNAL, "use": "Input"}, FORMULA]}, STEADY, id="formula"),
        pytest.param({"podReadiness": {"rollout": "HoldUp"}}, ROLLOUT, id="rollout"),
        pytest.param(
            {"podReadiness": {"rollout": "HottestRevision"}}, ROLLOUT, id="hottest revision"
        ),
        pytest.param({"candidate": {"steps": STEPS}}, STEADY, id="candidate"),
        pytest.param(
            {"candidate": {"steps": STEPS, "abortWhen": ABORT}}, HIGH_LOAD, id="aborted candidate"
        ),
    ],
)
async def test_kept_decisions_of_each_extension_change_nothing(extension, history, are_shared):
    spec = {**QUEUE, "metrics": [EXTERNAL], **extension}
    both = await run(spec, LOAD_AUTOSCALERS, history, are_shared=are_shared)
    assert repeated(both.worlds[1]) == 0


@BOTH_KINDS
@pytest.mark.parametrize("are_shared", [True, False])
async def test_a_steady_autoscaler_is_decided_a_few_times(kind, are_shared):
    both = await run(QUEUE, kind, STEADY, are_shared=are_shared)
    assert repeated(both.worlds[0]) >= 25
    assert repeated(both.worlds[1]) == 0
