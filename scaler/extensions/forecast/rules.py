"""`spec.forecast` with its defaults, and whether its metric can be forecast at all."""

import math
from zoneinfo import ZoneInfo

import msgspec

from scaler.api.autoscaler import AutoscalerSpec, MetricSpec
from scaler.api.forecast import ForecastMode, ForecastSpec
from scaler.extensions.forecast.load import why_not_load
from scaler.extensions.time_zones import time_zone

# The default of the CRD.
LEAD_SECONDS = 300
# Without a default in the CRD: it would replace the fields that objects of before have.
BUDGET_PERCENT = 40


class ForecastRules(msgspec.Struct, frozen=True, kw_only=True):
    """`spec.forecast`. `metric` is its name in the spec, `problem` why it cannot be forecast, None if it can."""

    metric: str
    acts: bool
    """Whether it adds replicas; otherwise it only says what it would add."""
    lead_minutes: int
    budget_percent: float
    extra_ratio: float | None = None
    zone: ZoneInfo | None = None
    """Of the days; None for UTC."""
    problem: str | None = None
    identity: str = ""
    """Of what is learned: another metric or lead starts from the beginning."""


def forecast_rules(spec: AutoscalerSpec, given: ForecastSpec) -> ForecastRules | None:
    """None if the mode is Off."""
    if given.mode == ForecastMode.OFF:
        return None
    metric = next((each for each in spec.metrics or () if each.name == given.metric), None)
    if metric is None:
        problem: str | None = f"no metric of the spec has the name {given.metric}"
        source = ""
    else:
        problem = why_not_load(metric)
        source = _source(metric)
    zone = None
    try:
        zone = time_zone(given.time_zone) if given.time_zone else None
    except ValueError as error:
        problem = problem or f"spec.forecast.timeZone: {error}"
    lead_seconds = LEAD_SECONDS if given.lead_seconds is None else given.lead_seconds
    lead_minutes = max(1, math.ceil(lead_seconds / 60))
    return ForecastRules(
        metric=given.metric,
        acts=given.mode == ForecastMode.ADD,
        lead_minutes=lead_minutes,
        budget_percent=_budget_percent(given),
        extra_ratio=_extra_ratio(given),
        zone=zone,
        problem=problem,
        identity=f"{lead_minutes} {source}",
    )


def _budget_percent(given: ForecastSpec) -> float:
    """`maxWastePercent` is the former name of the budget."""
    for each in (given.budget_percent, given.max_waste_percent):
        if each is not None:
            return float(each)
    return float(BUDGET_PERCENT)


def _extra_ratio(given: ForecastSpec) -> float | None:
    """The limit of before `budgetPercent`: with that field, the budget alone decides."""
    if given.budget_percent is not None or given.max_extra_percent is None:
        return None
    return given.max_extra_percent / 100


def _source(metric: MetricSpec) -> str:
    """What is measured, without the target: with another target, the load stays the same."""
    pods, whole = metric.pods, metric.object or metric.external
    resource, container = metric.resource, metric.container_resource
    parts: list[object] = [metric.type]
    if pods is not None:
        parts.append(pods.metric)
    if whole is not None:
        parts.append(whole.metric)
    if metric.object is not None:
        parts.append(metric.object.described_object)
    if resource is not None:
        parts.append(resource.name)
    if container is not None:
        parts.extend((container.name, container.container))
    if metric.formula is not None:
        parts.append(metric.formula.expression)
    return msgspec.json.encode(parts).decode()
