"""How many replicas one metric asks for: a small model of the HPA controller's replica calculator.

It is written from the documented behavior, shares no code with the scaler, and works on JSON objects as an API server has
them. The recorded vectors of the real controller judge it (`tests/conformance/scaler/test_hpa_model.py`). It leaves out
integer overflows and requests on the level of pods.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tests.hpa_model.amounts import (
    OutsideOfTheModel,
    duration_seconds,
    milli,
    unix_seconds,
)
from tests.hpa_model.identity import kept_by_identity

Document = Mapping[str, Any]
WINDOW_SECONDS = 60.0
"""Of a sample that does not say its own."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Flags of the controller, and the tolerances of an autoscaler."""

    tolerance_up: float = 0.1
    tolerance_down: float = 0.1
    cpu_initialization_seconds: float = 300.0
    readiness_delay_seconds: float = 30.0

    def allow(self, ratio: float) -> bool:
        """Whether a usage is so close to its target that nothing changes."""
        return 1.0 - self.tolerance_down <= ratio <= 1.0 + self.tolerance_up


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What the controller sees of a scale target."""

    spec_replicas: int
    status_replicas: int
    pods: tuple[Document, ...]
    now: float
    """Unix seconds by the clock of the controller."""


class _Unusable(Exception):
    """The metric proposes nothing."""


class _Sample(msgspec.Struct, frozen=True, kw_only=True):
    value_milli: int
    at: float
    window_seconds: float


class _Pod(msgspec.Struct, frozen=True, kw_only=True):
    """What decides of which group a pod is."""

    name: str
    group: str
    """Empty: its sample decides."""
    turned: float
    """When its condition Ready changed."""
    started: float | None
    """None: it has not, or has no condition Ready."""
    is_false: bool
    """Whether it is not ready by its condition."""


class _Groups(msgspec.Struct, frozen=True, kw_only=True):
    ready: frozenset[str]
    unready: frozenset[str]
    missing: frozenset[str]
    ignored: frozenset[str]


def proposal(metric: Document, answer: Document | None, target: Target, rules: Rules) -> int | None:
    """The replicas that a metric of the spec proposes.

    `answer` is the list that the metrics API returned, None if it failed. None: the metric is invalid. Raises
    OutsideOfTheModel.
    """
    if answer is None:
        return None
    kind = metric["type"]
    if kind not in _FORMULAS:
        return None
    try:
        return _FORMULAS[kind](metric[kind[0].lower() + kind[1:]], answer, target, rules)
    except _Unusable:
        return None


def _external(source: Document, answer: Document, target: Target, rules: Rules) -> int:
    values = [milli(each["value"]) for each in answer["items"]]
    if not values:
        raise _Unusable
    if min(values) < 0:
        raise OutsideOfTheModel("a negative value counts as an overflow")
    if source["target"].get("averageValue") is not None:
        return _by_average(sum(values), milli(source["target"]["averageValue"]), target, rules)
    if source["target"].get("value") is None:
        raise _Unusable
    return _by_value(sum(values), milli(source["target"]["value"]), target, rules)


def _object(source: Document, answer: Document, target: Target, rules: Rules) -> int:
    if len(answer["items"]) != 1:
        raise _Unusable
    value, wanted = milli(answer["items"][0]["value"]), source["target"]
    if wanted["type"] == "Value" and wanted.get("value") is not None:
        return _by_value(value, milli(wanted["value"]), target, rules)
    if wanted["type"] == "AverageValue" and wanted.get("averageValue") is not None:
        return _by_average(value, milli(wanted["averageValue"]), target, rules)
    raise _Unusable


def _by_value(value: int, wanted: int, target: Target, rules: Rules) -> int:
    ratio = value / wanted
    if target.spec_replicas == 0:
        return _count(ratio)
    if rules.allow(ratio):
        return target.spec_replicas
    if not target.pods:
        raise _Unusable
    ready = sum(
        pod["status"].get("phase") == "Running" and _condition(pod).get("status") == "True"
        for pod in target.pods
    )
    return _count(ratio * ready)


def _by_average(value: int, wanted: int, target: Target, rules: Rules) -> int:
    shared = wanted * target.status_replicas
    if shared and rules.allow(value / shared):
        return target.status_replicas
    return _count(value / wanted)


def _pods(source: Document, answer: Document, target: Target, rules: Rules) -> int:
    samples = _pods_samples(answer["items"])
    return _raw(samples, milli(source["target"]["averageValue"]), target, rules, resource="")


@kept_by_identity
def _pods_samples(items: Iterable[Document]) -> Mapping[str, _Sample]:
    return {
        each["describedObject"]["name"]: _Sample(
            value_milli=milli(each["value"]),
            at=unix_seconds(each["timestamp"]),
            window_seconds=float(each.get("windowSeconds", WINDOW_SECONDS)),
        )
        for each in items
    }


def _resource(source: Document, answer: Document, target: Target, rules: Rules) -> int:
    name, container = source["name"], source.get("container", "")
    samples = _resource_samples(answer["items"], name, container)
    wanted = source["target"]
    if wanted.get("averageValue") is not None:
        return _raw(samples, milli(wanted["averageValue"]), target, rules, resource=name)
    if wanted.get("averageUtilization") is None:
        raise _Unusable
    groups = _grouped(samples, target, rules, resource=name)
    percent = int(wanted["averageUtilization"])
    requests = _requests(target.pods, name, container)

    def ratio(values: Mapping[str, int]) -> float:
        known = [each for each in values if each in requests]
        requested = sum(requests[each] for each in known)
        if not requested:
            raise _Unusable
        return (
            float(math.trunc(_divided(100 * sum(values[each] for each in known), requested)))
            / percent
        )

    def at_least(pod: str) -> int:
        return math.trunc(_divided(requests[pod] * max(100, percent), 100))

    return _resized(samples, groups, target, rules, ratio, at_least)


def _raw(
    samples: Mapping[str, _Sample], wanted: int, target: Target, rules: Rules, *, resource: str
) -> int:
    groups = _grouped(samples, target, rules, resource=resource)

    def ratio(values: Mapping[str, int]) -> float:
        return math.trunc(_divided(sum(values.values()), len(values))) / wanted

    return _resized(samples, groups, target, rules, ratio, lambda _: wanted)


def _resized(
    samples: Mapping[str, _Sample],
    groups: _Groups,
    target: Target,
    rules: Rules,
    ratio_of: Callable[[Mapping[str, int]], float],
    missing_when_low: Callable[[str], int],
) -> int:
    left_out = groups.ignored | groups.unready
    values = {name: each.value_milli for name, each in samples.items() if name not in left_out}
    if not values:
        raise _Unusable
    current, first = target.spec_replicas, ratio_of(values)
    counts_unready = bool(groups.unready) and first > 1.0
    if not counts_unready and not groups.missing:
        return current if rules.allow(first) else _count(first * len(groups.ready))
    if first < 1.0:
        values |= {name: missing_when_low(name) for name in groups.missing}
    elif first > 1.0:
        values |= dict.fromkeys(groups.missing, 0)
    if counts_unready:
        values |= dict.fromkeys(groups.unready, 0)
    second = ratio_of(values)
    if rules.allow(second) or (first < 1.0 < second) or (second < 1.0 < first):
        return current
    wanted = _count(second * len(values))
    is_reversed = (second < 1.0 and wanted > current) or (second > 1.0 and wanted < current)
    return current if is_reversed else wanted


def _grouped(
    samples: Mapping[str, _Sample], target: Target, rules: Rules, *, resource: str
) -> _Groups:
    if not samples or not target.pods:
        raise _Unusable
    groups: dict[str, set[str]] = {name: set() for name in _Groups.__struct_fields__}
    for pod in _pods_read(target.pods):
        group = pod.group or _group(pod, samples.get(pod.name), target.now, rules, resource)
        groups[group].add(pod.name)
    return _Groups(**{name: frozenset(members) for name, members in groups.items()})


def _group(pod: _Pod, sample: _Sample | None, now: float, rules: Rules, resource: str) -> str:
    if sample is None:
        return "missing"
    is_unready = resource == "cpu" and _is_starting(pod, sample, now, rules)
    return "unready" if is_unready else "ready"


def _is_starting(pod: _Pod, sample: _Sample, now: float, rules: Rules) -> bool:
    if pod.started is None:
        return True
    if pod.started + rules.cpu_initialization_seconds > now:
        return pod.is_false or sample.at < pod.turned + sample.window_seconds
    return pod.is_false and pod.started + rules.readiness_delay_seconds > pod.turned


@kept_by_identity
def _pods_read(pods: Sequence[Document]) -> Sequence[_Pod]:
    return [_pod(each) for each in pods]


def _pod(pod: Document) -> _Pod:
    phase, group = pod["status"].get("phase"), ""
    if pod["metadata"].get("deletionTimestamp") is not None or phase == "Failed":
        group = "ignored"
    elif phase == "Pending":
        group = "unready"
    condition, started_at = _condition(pod), pod["status"].get("startTime")
    is_known = bool(condition) and started_at is not None
    return _Pod(
        name=pod["metadata"]["name"],
        group=group,
        turned=_turned(condition),
        started=unix_seconds(started_at) if is_known else None,
        is_false=condition.get("status") == "False",
    )


def _turned(condition: Document) -> float:
    text = condition.get("lastTransitionTime")
    return unix_seconds(text) if text else -math.inf


def _condition(pod: Document) -> Document:
    found = (each for each in pod["status"].get("conditions") or () if each["type"] == "Ready")
    return next(found, {})


@kept_by_identity
def _resource_samples(
    items: Iterable[Document], resource: str, container: str
) -> Mapping[str, _Sample]:
    found = {}
    for item in items:
        usages = [
            each["usage"].get(resource)
            for each in item.get("containers") or ()
            if container in ("", each["name"])
        ]
        if usages and None not in usages:
            found[item["metadata"]["name"]] = _Sample(
                value_milli=sum(map(milli, usages[:1] if container else usages)),
                at=unix_seconds(item["timestamp"]),
                window_seconds=duration_seconds(item["window"]),
            )
    return found


@kept_by_identity
def _requests(pods: Sequence[Document], resource: str, container: str) -> Mapping[str, int]:
    return {pod["metadata"]["name"]: _request(pod, resource, container) for pod in pods}


def _request(pod: Document, resource: str, container: str) -> int:
    spec = pod["spec"]
    if spec.get("resources", {}).get("requests") and not container:
        raise OutsideOfTheModel("requests on the level of pods")
    initial = spec.get("initContainers") or ()
    sidecars = [each for each in initial if each.get("restartPolicy") == "Always"]
    counted = [
        each
        for each in (*(spec.get("containers") or ()), *sidecars)
        if container in ("", each["name"])
    ]
    requests = [each.get("resources", {}).get("requests", {}).get(resource) for each in counted]
    if container:
        requests = requests[:1]
    if None in requests or (container and not requests):
        raise _Unusable
    return sum(map(milli, requests))


def _divided(value: int, by: int) -> float:
    """As integers are divided in Go: toward zero."""
    quotient = abs(value) // abs(by)
    return float(quotient if (value < 0) == (by < 0) else -quotient)


def _count(replicas: float) -> int:
    if abs(replicas) > 2**31 - 1:
        raise OutsideOfTheModel("more replicas than 32 bits have")
    return math.ceil(replicas)


_FORMULAS: dict[str, Callable[[Document, Document, Target, Rules], int]] = {
    "External": _external,
    "Object": _object,
    "Pods": _pods,
    "Resource": _resource,
    "ContainerResource": _resource,
}
