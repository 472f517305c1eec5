"""Pure: why an autoscaler is proposed, as the comment above its manifest."""

from collections.abc import Callable, Iterator
from pathlib import Path

from kubectl_loadline.backtest.score import Score
from kubectl_loadline.suggest.forecast_worth import ForecastWorth
from kubectl_loadline.suggest.proposal import Choices, quantity_of
from kubectl_loadline.suggest.search import LEARNING_SECONDS, Found, Tried
from kubectl_loadline.suggest.suggestion import Suggestion

TRIED_MAX = 4
LEARNING_DAYS = LEARNING_SECONDS // 86400


def commented(suggestion: Suggestion, rules: Path | None) -> Iterator[str]:
    """The lines, without the signs of a comment."""
    found, goal = suggestion.found, suggestion.short_percent_max
    needed = f"need {suggestion.start_up_seconds:g} s to become ready"
    start_up = f"are assumed to {needed} (--start-up)" if suggestion.start_up_assumed else needed
    yield (
        f"The cheapest choices that are short of ready replicas for at most {goal:g}% of the time, made on the first two thirds "
        f"of the history; pods {start_up}."
    )
    yield f"On the last third, which was not used for the choices: {_scored(found.score)}."
    if found.score.under_timeshare > goal:
        yield "That is more than the goal: the last third differs from the rest. Use a longer history, or a lower --short."
    if found.runner_up is not None:
        yield f"Runner-up: {described(found.runner_up.choices)}: {_scored(found.runner_up.score)}."
    yield from _forecast(found)
    for each in suggestion.series:
        if each.rejected:
            yield f"Rejected {each.name}: {each.rejected}."
    for step in found.steps:
        words = _words_of(step.about)
        width = max(len(words(each.choices)) for each in step.tried)
        share = " (share of a full replica)" if "target" in step.about else ""
        yield f"{step.about[:1].upper()}{step.about[1:]}{share}, the cheapest within the goal first:"
        for tried in step.tried[:TRIED_MAX]:
            beyond = "  (beyond the goal)" if tried.score.under_timeshare > goal else ""
            yield f"  {words(tried.choices).ljust(width)}  {_row(tried)}{beyond}"
    if suggestion.rules and rules is not None:
        yield (
            f"The adapter must serve the metric in {rules}: add it to rules.metrics in the values of its chart, and upgrade the "
            f"release. loadline-adapter check {rules} validates it, also against the scrape interval with --prometheus-url."
        )
    elif suggestion.rules:
        yield "The adapter must serve the metric: run the command again with --rules=FILE, which writes its query."
    else:
        yield "CPU usage needs no rule: metrics-server serves it, or the adapter's resourceRules."
    yield "It decides without scaling (mode: DryRun). Compare with kubectl loadline status, then set mode: Enforce."


def described(choices: Choices) -> str:
    """All choices that differ from the defaults."""
    parts = [f"{choices.metric} {quantity_of(choices.target)}"]
    if choices.tolerance != 0.1:
        parts.append(f"tolerance {choices.tolerance:g}")
    if choices.scale_down_window_seconds != 300:
        parts.append(f"scale-down window {choices.scale_down_window_seconds} s")
    if choices.scale_up != "the default":
        parts.append(f"scale-up {choices.scale_up}")
    if choices.forecast:
        parts.append("forecast")
    return ", ".join(parts)


def _words_of(about: str) -> Callable[[Choices], str]:
    words: dict[str, Callable[[Choices], str]] = {
        "tolerance": lambda c: f"tolerance {c.tolerance:g}",
        "scale-down stabilization window": lambda c: f"{c.scale_down_window_seconds} s",
        "scale-up policy": lambda c: c.scale_up,
        "forecast": lambda c: (
            f"{quantity_of(c.target)} {'with' if c.forecast else 'without'} forecast"
        ),
    }
    return words.get(about, lambda c: f"{c.metric} {quantity_of(c.target)} ({c.share:.0%})")


def _forecast(found: Found) -> Iterator[str]:
    """What it is worth, or why there is none."""
    worth = found.forecast
    if worth is not None:
        yield from _worth(worth)
        return
    tried = next((step.tried for step in found.steps if step.about == "forecast"), None)
    if tried is None:
        yield f"No forecast: it learns for {LEARNING_DAYS} days, so it needs a history of {3 * LEARNING_DAYS} days."
        return
    best = next((each for each in tried if each.choices.forecast), None)
    if best is not None:
        yield (
            f"No forecast: on the first two thirds it is not cheaper within the goal. With it: {_scored(best.score)}; "
            f"without: {_scored(tried[0].score)}."
        )


def _worth(worth: ForecastWorth) -> Iterator[str]:
    at_equal_cost = worth.short_percent_at_equal_cost
    other = (
        "it costs less than each of the neighboring targets"
        if at_equal_cost is None
        else f"another target with as many replica-hours as with the forecast: short for {at_equal_cost:.2f}% of the time"
    )
    if worth.is_proposed:
        yield f"Without the forecast: {_scored(worth.without)}; {other}."
    else:
        yield (
            f"No forecast: on the last third it is not worth it. With it: {_scored(worth.score)}; "
            f"without: {_scored(worth.without)}; {other}."
        )


def _scored(score: Score) -> str:
    return (
        f"short for {score.under_timeshare:.2f}% of the time, at most {score.longest_under_minutes:g} min; "
        f"{score.replica_hours:.1f} replica-hours"
    )


def _row(tried: Tried) -> str:
    return (
        f"short {tried.score.under_timeshare:6.2f}%  {tried.score.replica_hours:8.1f} replica-hours"
    )
