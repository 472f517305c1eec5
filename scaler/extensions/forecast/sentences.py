"""What users read of a forecast: its condition, and the events of its changes."""

from scaler.algorithm.decision import Event, EventType
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ConditionType
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from scaler.extensions.forecast.rules import ForecastRules
from scaler.extensions.forecast.state import (
    LEARNING,
    Forecast,
    ForecastStep,
    Recorded,
    Sums,
    Verdict,
)

CANNOT_BE_FORECAST = "CannotBeForecast"


def forecast_remark(
    rules: ForecastRules,
    verdict: Verdict | None,
    step: ForecastStep | None = None,
    *,
    learning: str | None = None,
) -> Remark:
    """The condition ForecastReliable; `verdict` is None if the metric cannot be forecast.

    `learning`: what became of the recorded load, while it still learns.
    """
    if rules.problem or verdict is None:
        return Remark(
            condition=ConditionType.FORECAST_RELIABLE,
            active=False,
            reason=CANNOT_BE_FORECAST,
            message=f"the metric {rules.metric} cannot be forecast: {rules.problem}",
        )
    changes = step is not None and step.acts and step.after != step.before
    return Remark(
        condition=ConditionType.FORECAST_RELIABLE,
        active=verdict.is_reliable,
        reason=verdict.reason,
        message=_message(rules, verdict, learning),
        holds=changes,
    )


def verdict_events(before: Verdict, after: Verdict) -> tuple[Event, ...]:
    """One event when the forecast is suspended, or may act again."""
    if before.reason == after.reason:
        return ()
    if after.is_reliable:
        event = Event(type=EventType.NORMAL, reason="ForecastReliable", message=after.message)
    else:
        event = Event(type=EventType.WARNING, reason="ForecastSuspended", message=after.message)
    return (event,)


def learned_event(rules: ForecastRules, state: Forecast, recorded: Recorded) -> Event:
    """The event of a warm start, whatever the verdict is."""
    message = _message(rules, state.verdict, recorded_text(recorded))
    return Event(type=EventType.NORMAL, reason="ForecastLearnedHistory", message=message)


def recorded_text(recorded: Recorded) -> str:
    """How much of what was learned was recorded."""
    return f"{recorded.minutes / MINUTES_PER_DAY:.1f} days of it are from recorded history"


def _message(rules: ForecastRules, verdict: Verdict, learning: str | None) -> str:
    if verdict.reason == LEARNING:
        needs = f"the forecast of {rules.metric} needs 3 days of load before it may act"
        return f"{needs}; {learning}" if learning else needs
    if verdict.is_reliable:
        return f"the forecast of {rules.metric} may act: {verdict.message}"
    return f"the forecast of {rules.metric} is suspended: {verdict.message}"


def forecast_sentence(step: ForecastStep) -> str:
    """What is expected, and what that adds."""
    if step.load is None:
        return f"Forecast: {step.metric} has no value now, so it adds nothing."
    load = f"metric `{step.metric}` is {step.load:g} for the whole target"
    if step.floor is None or step.bound is None:
        return f"Forecast: {load}; there is no forecast yet."
    expected = (
        f"Forecast: {load}, and at most {step.bound:.4g} is expected within "
        f"{step.lead_seconds:g} s, for which {_wanted(step.floor)}"
    )
    return (
        f"{expected}, so {_forecast_result(step)}. {_forecast_day(step.day, step.replayed_minutes)}"
    )


def _forecast_result(step: ForecastStep) -> str:
    if step.after == step.before:
        return "it adds nothing"
    if step.acts:
        return f"{step.before} becomes {step.after}"
    why = "in a dry run" if step.is_dry_run else "because it is not reliable now"
    return f"{step.before} would become {step.after}, but {why} it adds nothing"


def _forecast_day(day: Sums, replayed_minutes: int) -> str:
    if not day.minutes:
        return "How much it helps is not known yet."
    return (
        f"In the last 24 hours it added, or would have added, {day.added / 60:.1f} replica-hours; "
        f"{day.useful / 60:.1f} of them were needed.{_replay(replayed_minutes)}"
    )


def _replay(minutes: int) -> str:
    return f" Of these hours, {minutes / 60:.1f} are from recorded history." if minutes else ""


def _wanted(replicas: int) -> str:
    return "1 replica is wanted" if replicas == 1 else f"{replicas} replicas are wanted"
