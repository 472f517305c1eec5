"""The simple model of the HPA controller, which judges simulations, answers as the real controller does."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from testbed.oracle.scaler.cases import START_UNIX_SECONDS, Vector
from testbed.oracle.scaler.record import random_vectors_of
from testbed.oracle.scaler.versions import NEWEST
from testbed.vectors import lines
from tests.hpa_model.amounts import OutsideOfTheModel, amount
from tests.hpa_model.metrics import Rules, Target, proposal
from tests.hpa_model.normalization import Changed, Recommended, Remembered, normalized
from wire.api.labels import parse

Json = dict[str, Any]
CASE = msgspec.structs.fields(Vector)[0].encode_name
NUMBERS_MAX = 10**6
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
UNKNOWN = "Carbon"
KINDS = (
    "External averageValue", "External value", "External invalid",
    "Object averageValue", "Object value", "Object invalid",
    "Pods averageValue", "Pods invalid",
    "Resource averageUtilization", "Resource averageValue", "Resource invalid",
    "ContainerResource averageUtilization", "ContainerResource averageValue", "ContainerResource invalid",
)  # fmt: skip


@pytest.fixture(scope="module")
def vectors() -> list[Json]:
    return [msgspec.json.decode(line) for line in lines(random_vectors_of(NEWEST))]


def test_the_model_proposes_what_the_controller_proposes_for_every_metric(vectors):
    compared: Counter[str] = Counter()
    for vector in vectors:
        case = vector[CASE]
        if case["mode"] != "metrics":
            continue
        for metric, real in zip(_metrics(case), vector["metrics"], strict=True):
            try:
                found = _proposal(case, metric)
            except OutsideOfTheModel:
                continue
            assert found == (None if real["error"] else real["proposal"]), f"{metric}: {case}"
            if metric["type"] != UNKNOWN:
                compared[_described(metric, is_valid=found is not None)] += 1
    assert {kind: count > 100 for kind, count in compared.items()} == dict.fromkeys(KINDS, True)


def test_the_model_normalizes_as_the_controller_does(vectors):
    compared = 0
    for vector in vectors:
        case = vector[CASE]
        if case["mode"] == "normalize" and not _may_overflow(case):
            compared += 1
            assert _normalized(case) == int(vector["steps"][0]["log"][0][1]), case
    assert compared > 1_000


def _metrics(case: Json) -> list[Json]:
    return case["steps"][0]["autoscaler"]["spec"]["metrics"]


def _source(metric: Json) -> Json:
    return metric.get(metric["type"][0].lower() + metric["type"][1:], {})


def _described(metric: Json, *, is_valid: bool) -> str:
    wanted = set(_source(metric).get("target", {})) - {"type"} if is_valid else ()
    return " ".join((metric["type"], *(wanted if is_valid else ["invalid"])))


def _proposal(case: Json, metric: Json) -> int | None:
    step, settings = case["steps"][0], case["settings"]
    scale, behavior = step.get("scale", {}), step["autoscaler"]["spec"].get("behavior", {})
    selector = parse(scale.get("selector", ""))
    pods = [
        each
        for each in step.get("pods", ())
        if selector.matches(each["metadata"].get("labels") or {})
    ]
    tolerances = [
        float(amount(behavior[direction]["tolerance"]))
        if "tolerance" in behavior.get(direction, {}) and settings["configurable_tolerance"]
        else settings["tolerance"]
        for direction in ("scaleUp", "scaleDown")
    ]
    rules = Rules(
        tolerance_up=tolerances[0],
        tolerance_down=tolerances[1],
        cpu_initialization_seconds=settings["cpu_initialization_period_seconds"],
        readiness_delay_seconds=settings["initial_readiness_delay_seconds"],
    )
    target = Target(
        spec_replicas=scale.get("spec", 0),
        status_replicas=scale.get("status", 0),
        pods=tuple(pods),
        now=START_UNIX_SECONDS + step["atSeconds"],
    )
    return proposal(metric, _answer(metric, step["metrics"]), target, rules)


def _answer(metric: Json, answers: Json) -> Json | None:
    if metric["type"] == UNKNOWN or not _is_requested(metric):
        return None
    if metric["type"] in ("Resource", "ContainerResource"):
        found = answers.get("resource", {})
    else:
        group = "external" if metric["type"] == "External" else "custom"
        found = answers[group][_source(metric)["metric"]["name"]]
    return None if found.get("error") else found.get("list", {"items": []})


def _is_requested(metric: Json) -> bool:
    """Not with a selector that is invalid."""
    selector = _source(metric).get("metric", {}).get("selector") or {}
    return all(each["operator"] in OPERATORS for each in selector.get("matchExpressions") or ())


def _normalized(case: Json) -> int:
    step, memory = case["steps"][0], case.get("memory", {})
    changed = [
        Changed(each["atSeconds"], sign * each["replicas"])
        for sign, events in ((1, "scaleUpEvents"), (-1, "scaleDownEvents"))
        for each in memory.get(events) or ()
    ]
    recommended = [
        Recommended(each["atSeconds"], each["replicas"])
        for each in memory.get("recommendations") or ()
    ]
    return normalized(
        case["normalize"].get("desired", 0),
        case["normalize"].get("current", 0),
        step["autoscaler"]["spec"],
        Remembered(recommended=recommended, changed=changed),
        now=step["atSeconds"],
        window_seconds=case["settings"]["downscale_stabilization_seconds"],
    )


def _may_overflow(case: Json) -> bool:
    """Counts of 32 bits overflow upstream where they are doubled or added."""
    counts = [
        case["normalize"].get("current", 0),
        *(
            each["replicas"]
            for events in (case.get("memory") or {}).values()
            for each in events or ()
        ),
        *(
            policy["value"]
            for rules in (case["steps"][0]["autoscaler"]["spec"].get("behavior") or {}).values()
            for policy in rules.get("policies", ())
        ),
    ]
    return any(abs(count) > NUMBERS_MAX for count in counts)
