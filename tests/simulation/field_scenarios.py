"""Scenarios whose autoscalers have additional fields."""

import random
from collections.abc import Callable
from typing import Any

import msgspec

from tests.simulation.faults import Fault
from tests.simulation.faults import made_from as faults_of
from tests.simulation.fields import Fallback, Fields, Suspension, Window
from tests.simulation.metrics_apis import CUSTOM, EXTERNAL
from tests.simulation.scenario import AutoscalerPlan, Scenario, made_from

# How far clocks are stepped: a forecast of the far future is forgotten, and what a schedule says then is that of another day.
STEP_SECONDS_MAX = 60.0

Chooser = Callable[[random.Random, Scenario, AutoscalerPlan], dict[str, Any]]


def with_fields(seed: int, only: str = "") -> Scenario:
    """The scenario of a seed, whose autoscalers have one to three additional fields each, or `only` this one."""
    rng = random.Random(f"fields {seed}")
    scenario = made_from(seed)
    plans = []
    for plan in scenario.autoscalers:
        values: dict[str, Any] = {}
        for name in [only] if only else rng.sample(sorted(CHOOSERS), k=rng.choice((1, 2, 3))):
            values |= CHOOSERS[name](rng, scenario, plan)
        chosen = msgspec.structs.replace(plan, fields=_valid(Fields(**values)))
        is_idle = chosen.fields.decides_on_activity
        plans.append(_idle_at_times(rng, chosen) if is_idle else chosen)
    return msgspec.structs.replace(scenario, autoscalers=tuple(plans))


def _valid(fields: Fields) -> Fields:
    """A formula has no last value, and does not end zero."""
    has_last_value = fields.fallback is not None and fields.fallback.type == "LastValue"
    if fields.is_formula and (has_last_value or fields.decides_on_activity):
        fields = msgspec.structs.replace(fields, is_formula=False)
    if fields.has_candidate and (
        fields.is_formula or fields.decides_on_activity or fields.fallback is not None
    ):
        # Which of both policies these belong to would decide what is right.
        return msgspec.structs.replace(fields, has_candidate=False)
    return fields


def _idle_at_times(rng: random.Random, plan: AutoscalerPlan) -> AutoscalerPlan:
    """It may go to zero, and more often it has no load, or one that is not above the activation value."""
    *values, last = plan.load.values
    idle = [
        rng.choice((0.0, 0.0, rng.uniform(0, plan.fields.activation or 1), value, value))
        for value in values
    ]
    load = msgspec.structs.replace(plan.load, values=(*idle, last))
    return msgspec.structs.replace(plan, min_replicas=0, load=load)


def faults_with_fields(scenario: Scenario) -> tuple[Fault, ...]:
    """Those of the seed, and rollouts where they matter."""
    rng = random.Random(f"rollouts {scenario.seed}")
    chosen = [
        each
        for each in faults_of(scenario)
        if abs(each.amount) <= STEP_SECONDS_MAX or each.kind != "clock-step"
    ]
    for plan in scenario.autoscalers:
        if plan.fields.rollout:
            at = rng.uniform(60, scenario.calm_at * 0.8)
            chosen.append(Fault(kind="rollout", at=at, where=plan.key))
    return tuple(sorted(chosen, key=lambda fault: fault.at))


def _sync_period(rng: random.Random, scenario: Scenario, _: AutoscalerPlan) -> dict[str, Any]:
    return {"sync_period_seconds": int(min(scenario.period, rng.choice((2, 3, 5, 10))))}


def _dry_run(_: random.Random, __: Scenario, ___: AutoscalerPlan) -> dict[str, Any]:
    return {"is_dry_run": True}


def _suspension(rng: random.Random, scenario: Scenario, plan: AutoscalerPlan) -> dict[str, Any]:
    direction = rng.choice(("Both", "Up", "Down"))
    replicas = rng.choice((None, 0, plan.max_replicas + 1)) if direction == "Both" else None
    until = int(rng.uniform(60, scenario.calm_at - 30))
    return {"suspension": Suspension(direction=direction, until=until, replicas=replicas)}


def _zero(rng: random.Random, _: Scenario, plan: AutoscalerPlan) -> dict[str, Any]:
    if plan.groups[0] != EXTERNAL:
        return {}
    below_the_last_load = 2 * plan.max_replicas - 1
    return {
        "cooldown_seconds": rng.choice((None, 0, 20, 150)),
        "activation": rng.choice((None, 0, below_the_last_load, below_the_last_load)),
    }


def _fallback(rng: random.Random, _: Scenario, plan: AutoscalerPlan) -> dict[str, Any]:
    types = ["Fail", "Hold", "Replicas"]
    if plan.groups[0] == EXTERNAL:
        types += ["LastValue", "LastValue"]
    fallback = Fallback(
        type=rng.choice(types), failure_seconds=rng.choice((0, 10, 30, 90)),
        replicas=rng.randint(max(1, plan.min_replicas), plan.max_replicas), age_seconds_max=rng.choice((30, 300)),
    )  # fmt: skip
    return {"fallback": fallback}


def _formula(_: random.Random, __: Scenario, plan: AutoscalerPlan) -> dict[str, Any]:
    return {"is_formula": plan.groups[0] == EXTERNAL and plan.min_replicas > 0}


def _panic(rng: random.Random, scenario: Scenario, plan: AutoscalerPlan) -> dict[str, Any]:
    hold = rng.choice((15, 60))
    return {"panic_hold_seconds": hold} if plan.has_behavior else {}


def _futility(_: random.Random, __: Scenario, plan: AutoscalerPlan) -> dict[str, Any]:
    return {"ready_timeout_seconds": 90} if plan.has_behavior else {}


def _deletion_cost(_: random.Random, __: Scenario, plan: AutoscalerPlan) -> dict[str, Any]:
    return {"deletes_least_busy": plan.has_behavior and CUSTOM not in plan.groups}


def _rollout(rng: random.Random, _: Scenario, __: AutoscalerPlan) -> dict[str, Any]:
    return {"rollout": rng.choice(("IgnoreSurge", "HoldUp", "HottestRevision"))}


def _window(rng: random.Random, scenario: Scenario, plan: AutoscalerPlan) -> dict[str, Any]:
    low = rng.choice((1, 3, plan.max_replicas, plan.max_replicas + 5))
    window = Window(
        begin=int(rng.uniform(90, scenario.calm_at / 2)),
        seconds=int(rng.uniform(30, scenario.calm_at / 2 - 30)),
        min_replicas=low,
        max_replicas=low + rng.choice((0, 2, 10)),
    )
    return {"window": window}


def _calendar(rng: random.Random, scenario: Scenario, plan: AutoscalerPlan) -> dict[str, Any]:
    return {**_window(rng, scenario, plan), "is_by_calendar": True}


def _forecast(rng: random.Random, _: Scenario, plan: AutoscalerPlan) -> dict[str, Any]:
    mode = rng.choice(("Add", "Add", "DryRun", "Suspended"))
    return {"forecast": mode if plan.groups[0] == EXTERNAL else ""}


def _candidate(rng: random.Random, _: Scenario, plan: AutoscalerPlan) -> dict[str, Any]:
    last = int(plan.load.values[-1]) + 1
    has_higher = max(plan.load.values) > last
    aborts_above = rng.choice((None, last, last)) if has_higher else None
    return {"has_candidate": plan.groups == (EXTERNAL,), "aborts_above": aborts_above}


CHOOSERS: dict[str, Chooser] = {
    "sync period": _sync_period, "dry run": _dry_run, "suspension": _suspension, "zero": _zero, "fallback": _fallback,
    "formula": _formula, "panic": _panic, "futility": _futility, "deletion cost": _deletion_cost, "rollout": _rollout,
    "window": _window, "calendar": _calendar, "forecast": _forecast, "candidate": _candidate,
}  # fmt: skip
