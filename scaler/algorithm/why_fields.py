"""Pure: the forecast and the candidate of a derivation in plain words."""

from scaler.algorithm.derivation import CandidateStep, ForecastStep
from scaler.extensions.forecast.state import Sums


def forecast_sentence(step: ForecastStep) -> str:
    """What is expected, and what that adds."""
    if step.load is None:
        return f"Forecast: {step.metric} has no value now, so it adds nothing."
    load = f"the load of {step.metric} is {step.load:g}"
    if step.floor is None or step.bound is None:
        return f"Forecast: {load}; there is no forecast yet."
    expected = (
        f"Forecast: {load}, and expected to reach {step.bound:.4g} within "
        f"{step.lead_seconds:g} s, which needs {_counted(step.floor)}"
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
        return "Its worth is not known yet."
    return (
        f"In the last 24 hours it added {day.added / 60:.1f} replica-hours, or would have; "
        f"{day.useful / 60:.1f} of them were needed.{_replay(replayed_minutes)}"
    )


def _replay(minutes: int) -> str:
    return f" Of these hours, {minutes / 60:.1f} are from recorded history." if minutes else ""


def candidate_sentence(step: CandidateStep) -> str:
    """Both counts, and what they result in."""
    if step.problem:
        return "Candidate: it is aborted and decides nothing."
    if step.desired is None:
        return (
            f"Candidate: its metrics do not allow a decision, so the spec decides: {step.result}."
        )
    by = f" by {step.winner}" if step.winner else ""
    counts = f"Candidate: it wants {_counted(step.desired)}{by}, the spec {step.spec_desired}"
    if step.is_shadow:
        return f"{counts}. It is only reported, so the result is {step.result}."
    return f"{counts}. It has {step.weight_percent} %, so the result is {step.result}."


def _counted(replicas: int) -> str:
    return "1 replica" if replicas == 1 else f"{replicas} replicas"
