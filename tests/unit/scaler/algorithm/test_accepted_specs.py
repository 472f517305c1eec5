"""Whatever the CRD accepts is decided and reported, with whatever values: nothing raises, and kube-apiserver takes the status."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scaler.algorithm.decide import decide
from scaler.algorithm.decision import Decision, NotNeeded, Outcome, Rescaled
from scaler.algorithm.derivation import decoded as derived
from scaler.algorithm.derivation import encoded
from scaler.algorithm.draft import Ask
from scaler.algorithm.go_numbers import INT32_MIN
from scaler.algorithm.history import history_of
from scaler.algorithm.memory import AnyMemory, Memory
from scaler.algorithm.observed import Observed, Pod, PodSpec, ScaleView, TargetPods
from scaler.algorithm.plan import plan
from scaler.algorithm.readings import (
    ComputedFrom,
    ExternalValues,
    MetricFailed,
    ObjectValue,
    PodSample,
    PodSamples,
    Reading,
)
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import Autoscaler, MetricSpec
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.api.schedules import (
    Calendar,
    CalendarKind,
    CalendarReference,
    FoundCalendar,
    ScheduleSpec,
)
from scaler.cluster.metrics.metric_requests import request_of
from scaler.cluster.status import status_body, stored_memory
from scaler.extensions import EXTENSIONS, STEP_TYPES
from scaler.extensions.schedules.reading import read_on, readable
from scaler.extensions.schedules.windows import evaluated
from scaler.extensions.schedules.work import Work
from tests.crd_schema import schema_in, unknown_fields, violations
from tests.generated_specs import QUANTITIES, TIMES, defaulted, objects
from tests.unit.scaler.objects import NOW, container, pod
from wire.api import kube_json
from wire.api.labels import parse

CRDS = Path(__file__).parents[4] / "charts" / "scaler" / "files" / "crds"
AUTOSCALER = schema_in(CRDS / "loadautoscalers.yaml")["properties"]
SETTINGS = Settings(kind=LOAD_AUTOSCALERS, extensions=EXTENSIONS, scale_to_zero=True)
SELECTOR = "app=web"
PERIOD_SECONDS = 15.0

many = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
values = st.sampled_from(
    [0, 1, -1, 999, 10_000, 10**15, -(10**15), 2**63 - 1, -(2**63)]
) | st.integers(-(2**63), 2**63 - 1)
replica_counts = st.sampled_from([0, 1, 2, 3, 10, 2**30, 2**31 - 1])
pod_groups = st.lists(
    st.builds(
        lambda phase, ready, request: (phase, ready, request),
        st.sampled_from(["Running", "Pending", "Failed"]),
        st.sampled_from(["True", "False", None]),
        st.sampled_from([None, *QUANTITIES]),
    ),
    max_size=3,
).map(lambda found: tuple(_pod(number, *each) for number, each in enumerate(found)))


def _pod(number: int, phase: str, ready: str | None, request: str | None) -> Pod:
    requests = {} if request is None else {"cpu": request, "memory": request}
    spec = PodSpec(containers=(container("app", **requests),))
    return pod(f"web-{number}", phase=phase, ready=ready, spec=spec)


def reading(data: st.DataObject, metric: MetricSpec, pods: tuple[Pod, ...]) -> Reading:
    """One of the metric's form, or a failure."""
    if metric.is_computed:
        return ComputedFrom()
    if data.draw(st.sampled_from([False, False, False, True])):
        return MetricFailed("unable to fetch metrics: down")
    if metric.external is not None:
        return ExternalValues(tuple(data.draw(st.lists(values, min_size=1, max_size=3))))
    if metric.object is not None:
        return ObjectValue(data.draw(values))
    measured = [each for each in pods if data.draw(st.booleans())]
    return PodSamples(
        {
            each.metadata.name: PodSample(
                value_milli=data.draw(values), sampled_at_unix_seconds=NOW, window_seconds=15
            )
            for each in measured
        }
    )


def decoded(spec: Any, status: Any = None) -> Autoscaler:
    """As the watch of the scaler reads it."""
    metadata = {"namespace": "shop", "name": "web", "uid": "u1", "resourceVersion": "1"}
    document = {"metadata": metadata, "spec": spec, "status": status or {}}
    return kube_json.decode(msgspec.json.encode(document), Autoscaler)


def planned(found: Autoscaler, memory: AnyMemory, replicas: int, now: float) -> Ask | Decision:
    view = ScaleView(spec_replicas=replicas, status_replicas=replicas, selector=SELECTOR)
    return plan(Observed(autoscaler=found, scale=view), memory, SETTINGS, now)


def reported(found: Autoscaler, outcome: Outcome) -> bytes:
    """What is written into the status, which kube-apiserver must accept, and what people read."""
    explain(outcome.derivation, EXTENSIONS)
    explain(derived(encoded(outcome.derivation), STEP_TYPES), EXTENSIONS)
    body = status_body(
        found, outcome.status, history_of(outcome.memory, EXTENSIONS), LOAD_AUTOSCALERS
    )
    status = msgspec.json.decode(body)["status"]
    assert violations(status, AUTOSCALER["status"]) == []
    assert unknown_fields(status, AUTOSCALER["status"]) == []
    assert "AbleToScale" in {each["type"] for each in status["conditions"]}
    return body


def reconciled(data: st.DataObject, spec: Any) -> None:
    """Twice, with the same memory, or after a restart from what the first one has stored."""
    found, memory = decoded(spec), Memory()
    for now in (NOW, NOW + PERIOD_SECONDS):
        ask = planned(found, memory, data.draw(replica_counts), now)
        if isinstance(ask, Ask):
            pods = data.draw(pod_groups)
            for each in ask.metrics:
                request_of("shop", each, parse(SELECTOR))
            readings = [reading(data, each, pods) for each in ask.metrics]
            target = TargetPods(pods=pods, controlled_by=("shop/web",))
            decision = decide(ask, target, readings, now)
        else:
            decision = ask
        outcome = settle(decision, Rescaled() if decision.rescale else NotNeeded(), now)
        if outcome.derivation.desired_replicas == INT32_MIN:
            # Twice as many replicas as there are would be more than the largest int32: as upstream's, such a count is refused.
            return
        body = reported(found, outcome)
        memory = stored_memory(body) if data.draw(st.booleans()) else outcome.memory
        found = decoded(spec, msgspec.json.decode(body)["status"])


@many
@given(spec=objects(AUTOSCALER["spec"]), has_defaults=st.booleans(), data=st.data())
def test_every_spec_is_decided_and_reported(
    spec: Any, has_defaults: bool, data: st.DataObject
) -> None:
    if has_defaults:
        spec = defaulted(spec, AUTOSCALER["spec"])
    assert violations(spec, AUTOSCALER["spec"]) == []
    reconciled(data, spec)


QUEUE = {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "10"}}
EXTERNAL = {"type": "External", "name": "queue", "external": QUEUE}
FORMULA = {"expression": "2 * queue", "target": {"type": "Value", "value": "1"}}


def with_metric(**changes: Any) -> Any:
    return {"minReplicas": 0, "metrics": [{**EXTERNAL, **changes}]}


def with_target(kind: str, field: str, value: str) -> Any:
    target = {"type": field[0].upper() + field[1:], field: value}
    source = {"metric": {"name": "queue"}, "target": target}
    described = {"describedObject": {"kind": "Service", "name": "web"}}
    of_kind = {
        "External": {"external": source},
        "Object": {"object": {**source, **described}},
        "Pods": {"pods": source},
        "Resource": {"resource": {"name": "cpu", "target": target}},
        "Formula": {"formula": {"expression": "2 * queue", "target": target}},
    }[kind]
    metrics = [{"type": kind, **of_kind}]
    return {"metrics": [*metrics, {**EXTERNAL, "use": "Input"}] if kind == "Formula" else metrics}


def candidate(**fields: Any) -> Any:
    return {"metrics": [EXTERNAL], "candidate": {"mode": "DryRun", "metrics": [EXTERNAL], **fields}}


PLACES = {
    "tolerance up": lambda text: {"behavior": {"scaleUp": {"tolerance": text}}},
    "tolerance down": lambda text: {"behavior": {"scaleDown": {"tolerance": text}}},
    "activationValue": lambda text: with_metric(activationValue=text),
    "external averageValue": lambda text: with_target("External", "averageValue", text),
    "external value": lambda text: with_target("External", "value", text),
    "object averageValue": lambda text: with_target("Object", "averageValue", text),
    "object value": lambda text: with_target("Object", "value", text),
    "formula averageValue": lambda text: with_target("Formula", "averageValue", text),
    "formula value": lambda text: with_target("Formula", "value", text),
    "pods": lambda text: with_target("Pods", "averageValue", text),
    "resource": lambda text: with_target("Resource", "averageValue", text),
    "above": lambda text: candidate(abortWhen=[{"metric": {"name": "errors"}, "above": text}]),
    "below": lambda text: candidate(abortWhen=[{"metric": {"name": "errors"}, "below": text}]),
    "tolerance of a candidate": lambda text: candidate(behavior={"scaleUp": {"tolerance": text}}),
    "target of a candidate": lambda text: {
        "metrics": [EXTERNAL],
        "candidate": {"mode": "DryRun", **with_target("External", "averageValue", text)},
    },
}


@pytest.mark.deviation("unreadable-quantities")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", QUANTITIES)
def test_a_quantity_that_the_crd_accepts_is_understood(place: str, text: str) -> None:
    """Whatever exponent it has."""
    spec = {**BASE, **PLACES[place](text)}
    if violations(spec, AUTOSCALER["spec"]):
        return
    found = decoded(spec)
    ask = planned(found, Memory(), 2, NOW)
    assert isinstance(ask, Ask)
    pods = (pod("web-0"), pod("web-1"))
    readings = [_usual(each) for each in ask.metrics]
    decision = decide(ask, TargetPods(pods=pods, controlled_by=("shop/web",)), readings, NOW)
    assert [each.failure for each in decision.derivation.metrics if each.failure] == []
    reported(found, settle(decision, Rescaled() if decision.rescale else NotNeeded(), NOW))


def test_a_decision_with_an_infinite_ratio_is_read_back() -> None:
    """`10P` is 0 thousandths, as for the HPA controller; one of the pods has no sample."""
    found = decoded({**BASE, **with_target("Pods", "averageValue", "10P")})
    ask = planned(found, Memory(), 2, NOW)
    assert isinstance(ask, Ask)
    target = TargetPods(pods=(pod("web-0"), pod("web-1")), controlled_by=("shop/web",))
    sample = PodSample(value_milli=500, sampled_at_unix_seconds=NOW, window_seconds=15)
    decision = decide(ask, target, [PodSamples({"web-0": sample})], NOW)
    assert decision.derivation.metrics[0].fill_in is not None
    reported(found, settle(decision, Rescaled() if decision.rescale else NotNeeded(), NOW))


BASE = {
    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    "minReplicas": 1,
    "maxReplicas": 9,
}


def _usual(metric: MetricSpec) -> Reading:
    if metric.is_computed:
        return ComputedFrom()
    if metric.external is not None:
        return ExternalValues((30_000,))
    if metric.object is not None:
        return ObjectValue(30_000)
    sample = PodSample(value_milli=500, sampled_at_unix_seconds=NOW, window_seconds=15)
    return PodSamples({"web-0": sample, "web-1": sample})


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        *(
            pytest.param({"suspend": {"until": each}}, "spec.suspend.until", id=each)
            for each in TIMES
            if each.startswith(("2026-02-31", "0000")) or each.endswith("+99:99")
        ),
        *(
            pytest.param(
                {"schedules": [{"name": "a", "durationSeconds": 60, "minReplicas": 2, **each}]},
                f"spec.schedules[0].{name}",
                id=name,
            )
            for name, each in {
                "schedule": {"schedule": "99 * * * *"},
                "dates": {"dates": ["2026-02-31T00:00:00"]},
                "timeZone": {"schedule": "@daily", "timeZone": "Nowhere/Else"},
            }.items()
        ),
        pytest.param(
            {
                "metrics": [
                    EXTERNAL,
                    {"type": "Formula", "formula": {**FORMULA, "expression": "1.2.3"}},
                ]
            },
            "spec.metrics[1].formula.expression",
            id="formula",
        ),
    ],
)
def test_a_field_that_cannot_be_used_is_named_in_a_condition(fields: Any, field: str) -> None:
    spec = {**BASE, "metrics": [EXTERNAL], **fields}
    assert violations(spec, AUTOSCALER["spec"]) == []
    found = decoded(spec)
    ask = planned(found, Memory(), 2, NOW)
    assert isinstance(ask, Ask)
    target = TargetPods(pods=(pod("web-0"),), controlled_by=("shop/web",))
    decision = decide(ask, target, [_usual(each) for each in ask.metrics], NOW)
    outcome = settle(decision, Rescaled() if decision.rescale else NotNeeded(), NOW)
    assert any(field in each.message for each in outcome.status.conditions or ())


def test_a_requirement_without_a_key_fails_its_metric_and_not_the_whole_object() -> None:
    """The CRD, as kube-apiserver for an HPA, requires neither a key nor an operator."""
    metric = {"name": "queue", "selector": {"matchExpressions": [{}]}}
    found = decoded({**BASE, "metrics": [{**EXTERNAL, "external": {**QUEUE, "metric": metric}}]})
    ask = planned(found, Memory(), 2, NOW)
    assert isinstance(ask, Ask)
    target = TargetPods(pods=(pod("web-0"),), controlled_by=("shop/web",))
    outcome = settle(decide(ask, target, [ExternalValues((1,))], NOW), NotNeeded(), NOW)
    conditions = {each.type: each for each in outcome.status.conditions or ()}
    assert conditions["ScalingActive"].reason == "FailedGetExternalMetric"
    assert "not a valid label selector operator" in conditions["ScalingActive"].message


CALENDAR = schema_in(CRDS / "scalingcalendars.yaml")["properties"]["spec"]
REFERENCE = CalendarReference(kind=CalendarKind.NAMESPACED, name="events")
IN_2026 = 1_795_000_000.0
WHOLE_CALENDAR_UNITS = 10**6


@many
@given(spec=objects(CALENDAR), now=st.floats(IN_2026, IN_2026 + 4e8))
def test_every_calendar_is_evaluated_or_its_problem_names_the_entry(spec: Any, now: float) -> None:
    body = msgspec.json.encode({"metadata": {"namespace": "shop", "name": "events"}, "spec": spec})
    calendar = kube_json.decode(body, Calendar)
    schedules = (ScheduleSpec(name="peak", calendar_ref=REFERENCE, min_replicas=2),)
    work = Work(WHOLE_CALENDAR_UNITS)
    read = read_on(readable(schedules, (FoundCalendar(REFERENCE, calendar.spec),), work), work)
    assert read.is_complete
    assert all(each.startswith("spec.schedules[0].calendarRef") for each in read.problems)
    evaluated(read.schedules, now, min_replicas=1, max_replicas=9, work=work)
