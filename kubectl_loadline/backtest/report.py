"""The result of a backtest: the fidelity first, then each policy, and what was assumed or left out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from kubectl_loadline.backtest.comparison import (
    Played,
    Policy,
    Result,
    Scenario,
    censored_minutes,
    fidelity,
    oracle,
    play,
    recorded,
    results,
)
from kubectl_loadline.backtest.fidelity import TRUSTED_PERCENT, Fidelity
from kubectl_loadline.backtest.loop import Decided
from kubectl_loadline.backtest.metric_models import left_out

SCHEMA = "loadline.io/backtest/v1"
LOW_FIDELITY = "low fidelity"
CAUSES = (
    "manual scaling, a changed spec, a rollout, a metric other than the recorded one, or a wrong --start-up, "
    "--delay or --kind"
)


class ServedLoad(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One metric: what its series is taken to be, and how much of it a ready replica serves."""

    metric: str
    kind: str
    served_per_replica: float
    served_from: str
    delay_seconds: float
    source: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything that `backtest` prints. Fields may be added, are never renamed, and any other change gets a new `schema`."""

    autoscaler: str
    start_unix_seconds: int
    end_unix_seconds: int
    scored_from_unix_seconds: int
    step_seconds: int
    decisions: int
    fidelity: Fidelity | None
    warnings: tuple[str, ...]
    loads: tuple[ServedLoad, ...]
    sources: Mapping[str, str]
    not_replayed: tuple[str, ...]
    remarks: tuple[str, ...]
    censored_minutes: float
    start_up_from: str
    results: tuple[Result, ...]
    price_per_replica_hour: float | None = None
    schema: str = SCHEMA


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to compare. The first policy is the current spec; `start_ups` in seconds: the median, then the others."""

    policies: tuple[Policy, ...]
    scenario: Scenario
    start_ups: tuple[float, ...]
    start_up_from: str
    price_per_replica_hour: float | None = None


OnDecision = Callable[[Policy, float, Decided], None]


def backtest(request: Request, on_decision: OnDecision) -> tuple[Report, tuple[Played, ...]]:
    """Replay all policies at all start-up times. Raises ValueError if one has no metric that can be replayed."""
    scenario, present = request.scenario, request.policies[0]
    history = recorded(scenario)
    played = [] if history is None else [history]
    for start_up in request.start_ups:
        played += [
            play(policy, scenario, start_up, partial(on_decision, policy, start_up))
            for policy in request.policies
        ]
        played.append(oracle(scenario, present.autoscaler, start_up))
    of_present = next(each for each in played if each.name == present.name)
    found = fidelity(of_present, scenario)
    is_low = found is not None and not found.is_trusted
    report = Report(
        autoscaler=present.autoscaler.key,
        start_unix_seconds=scenario.range.start_unix_seconds,
        end_unix_seconds=scenario.range.end_unix_seconds,
        scored_from_unix_seconds=scenario.range.scored_from_unix_seconds,
        step_seconds=scenario.range.step_seconds,
        decisions=len(of_present.times),
        fidelity=found,
        warnings=tuple(_warnings(found)),
        loads=tuple(_loads(scenario)),
        sources=scenario.recording.sources,
        not_replayed=tuple(_not_replayed(request.policies, scenario)),
        remarks=scenario.models.remarks,
        censored_minutes=censored_minutes(scenario),
        start_up_from=request.start_up_from,
        results=tuple(
            msgspec.structs.replace(each, warning=LOW_FIDELITY if is_low else "")
            for each in results(played, scenario)
        ),
        price_per_replica_hour=request.price_per_replica_hour,
    )
    return report, tuple(played)


def _warnings(found: Fidelity | None) -> Iterator[str]:
    if found is None:
        yield (
            "no replicas were recorded, so it is unknown how well the replay reproduces what happened: "
            "set the query with --query replicas=PROMQL"
        )
    elif not found.is_trusted:
        yield (
            f"the replay of the current spec is within one replica of what was recorded for less than {TRUSTED_PERCENT:g}% "
            f"of the time, so do not rely on the results below. Possible causes: {CAUSES}"
        )


def _loads(scenario: Scenario) -> Iterator[ServedLoad]:
    for column, model in scenario.models.by_column.items():
        yield ServedLoad(
            metric=column,
            kind=model.kind.value,
            served_per_replica=model.served,
            served_from=model.served_from,
            delay_seconds=model.delay_seconds,
            source=scenario.recording.sources.get(column, ""),
        )


def _not_replayed(policies: Sequence[Policy], scenario: Scenario) -> Iterator[str]:
    yield from scenario.models.not_replayed
    for policy in policies:
        for what in left_out(
            policy.autoscaler, scenario.recording, scenario.models, scenario.calendars
        ):
            yield f"{policy.name}: {what}"
