"""Finds the cheapest choices that are short for at most so much of the time, one choice after the other.

The choices are made on the first two thirds of the recorded time, and judged on the last third, which they have not seen.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from kubectl_loadline.backtest.comparison import Policy, Range, Scenario, demanded, play, scored
from kubectl_loadline.backtest.score import Score
from kubectl_loadline.suggest.forecast_worth import ForecastWorth, worth_of
from kubectl_loadline.suggest.proposal import FAST_UP, NO_LIMIT_UP, Choices, Workload, autoscaler_of
from scaler.algorithm.settings import Settings
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS

SHARES = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
WINDOWS_SECONDS = (0, 60, 300, 600, 1800)
TOLERANCES = (0.1, 0.0)
SCALE_UPS = (NO_LIMIT_UP, FAST_UP)
FORECAST_SHARES_UP = 2
"""How many steps higher a target may be with a forecast."""
TARGETS_BESIDE = 2
"""With as many targets on each side, a forecast is compared at equal replica-hours."""
LEARNING_SECONDS = 3 * 86400
SETTINGS = Settings(kind=LOAD_AUTOSCALERS, extensions=EXTENSIONS, scale_to_zero=True)


class Tried(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One set of choices, and its score on the time on which the choice is made."""

    choices: Choices
    score: Score


class Step(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One choice: what was tried, the best first. The second one is the runner-up."""

    about: str
    tried: tuple[Tried, ...]


class Found(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The steps in their order, the result, and the scores on the time that no choice has seen.

    `forecast`: whether the forecast that the first two thirds have chosen is worth it; None if they have chosen none.
    """

    steps: tuple[Step, ...]
    choices: Choices
    score: Score
    runner_up: Tried | None
    without_forecast: Score | None
    forecast: ForecastWorth | None = None


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What to search: `full` is the load of a full replica, by the name of a metric; `external` are of the whole target."""

    scenario: Scenario
    workload: Workload
    start_up_seconds: float
    full: Mapping[str, float]
    external: frozenset[str] = frozenset()
    short_percent_max: float


OnTried = Callable[[str], None]


def searched(problem: Problem, on_tried: OnTried) -> Found:
    """The proposal. Raises ValueError if there is no metric."""
    train, test = _split(problem)
    least, most = bounds(problem)
    first = [
        Choices(
            metric=metric,
            is_external=metric in problem.external,
            share=share,
            target=full * share,
            min_replicas=least,
            max_replicas=most,
        )
        for metric, full in problem.full.items()
        for share in SHARES
    ]
    steps = [_step("metric and target", first, train, on_tried)]
    for about, varied in _VARIATIONS:
        best = steps[-1].tried[0].choices
        others = [each for each in varied(best) if each != best]
        if others:
            steps.append(_step(about, [best, *others], train, on_tried))
    return _judged_on(test, steps, _with_forecast(steps[-1].tried[0].choices, train, on_tried))


def bounds(problem: Problem) -> tuple[int, int]:
    """The least and the most replicas: the quiet need, at least 2, and half more than the largest, at least the recorded."""
    models, recording = problem.scenario.models, problem.scenario.recording
    needs = sorted(
        need
        for now in problem.scenario.range.times()
        if (need := demanded(models, now)) is not None
    )
    if not needs:
        raise ValueError("the demand is unknown for the whole history")
    recorded = [
        value for value in (recording.replicas.values if recording.replicas else ()) if value
    ]
    most = max(-(-needs[-1] * 3 // 2), round(max(recorded, default=0)), 2)
    return max(2, needs[len(needs) // 20]), most


def _windows(best: Choices) -> Iterator[Choices]:
    for seconds in WINDOWS_SECONDS:
        yield msgspec.structs.replace(best, scale_down_window_seconds=seconds)


def _tolerances(best: Choices) -> Iterator[Choices]:
    for tolerance in TOLERANCES:
        yield msgspec.structs.replace(best, tolerance=tolerance)


def _scale_ups(best: Choices) -> Iterator[Choices]:
    for scale_up in SCALE_UPS:
        yield msgspec.structs.replace(best, scale_up=scale_up)


def _targets(best: Choices) -> Iterator[Choices]:
    """Again, because the other choices allow another one."""
    for share in SHARES:
        yield msgspec.structs.replace(best, share=share, target=best.target / best.share * share)


_VARIATIONS = (
    ("tolerance", _tolerances),
    ("scale-down stabilization window", _windows),
    ("scale-up policy", _scale_ups),
    ("target with these settings", _targets),
)


def _with_forecast(best: Choices, train: "_Part", on_tried: OnTried) -> Step | None:
    """None where the time is too short to learn, and to be judged after it."""
    span = train.scenario.range
    if span.end_unix_seconds - span.start_unix_seconds < 2 * LEARNING_SECONDS:
        return None
    place = SHARES.index(best.share)
    higher = [
        msgspec.structs.replace(
            best, share=share, target=best.target / best.share * share, forecast=True
        )
        for share in SHARES[place : place + FORECAST_SHARES_UP + 1]
    ]
    return _step("forecast", [best, *higher], train, on_tried)


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the recorded time."""

    scenario: Scenario
    problem: Problem
    replayed: dict[Choices, Tried] = {}

    def tried(self, choices: Choices) -> Tried:
        """Replay it, once."""
        if choices not in self.replayed:
            self.replayed[choices] = self._replay(choices)
        return self.replayed[choices]

    def _replay(self, choices: Choices) -> Tried:
        enforced = autoscaler_of(choices, self.problem.workload)
        policy = Policy(name="suggested", autoscaler=enforced, settings=SETTINGS)
        played = play(policy, self.scenario, self.problem.start_up_seconds)
        return Tried(choices=choices, score=scored(played, self.scenario))

    def cost(self, tried: Tried) -> tuple[float, float]:
        """Less is better: the time short beyond the goal, then the replica-hours."""
        beyond = max(0.0, tried.score.under_timeshare - self.problem.short_percent_max)
        return beyond, tried.score.replica_hours


def _step(about: str, choices: Sequence[Choices], part: _Part, on_tried: OnTried) -> Step:
    tried = []
    for each in choices:
        tried.append(part.tried(each))
        on_tried(about)
    return Step(about=about, tried=tuple(sorted(tried, key=part.cost)))


def _judged_on(test: _Part, steps: Sequence[Step], forecast: Step | None) -> Found:
    """A forecast is proposed only if it is also worth it on the time that it has not seen."""
    chosen = test.tried(steps[-1].tried[0].choices)
    worth = without = None
    if forecast is not None and forecast.tried[0].choices.forecast:
        with_forecast = test.tried(forecast.tried[0].choices)
        worth = _worth(test, with_forecast, chosen)
        if worth.is_proposed:
            without, chosen = chosen.score, with_forecast
    others = [
        each
        for step in steps
        for each in step.tried[1:]
        if each.choices.metric != chosen.choices.metric
    ] or [each for each in steps[0].tried if each.choices != chosen.choices]
    runner_up = min(others, key=test.cost, default=None)
    return Found(
        steps=(*steps, forecast) if forecast is not None else tuple(steps),
        choices=chosen.choices,
        score=chosen.score,
        runner_up=None if runner_up is None else test.tried(runner_up.choices),
        without_forecast=without,
        forecast=worth,
    )


def _worth(test: _Part, with_forecast: Tried, chosen: Tried) -> ForecastWorth:
    """Beside the target that was chosen without a forecast, and the next ones on both sides."""
    place = SHARES.index(chosen.choices.share)
    shares = SHARES[max(0, place - TARGETS_BESIDE) : place + TARGETS_BESIDE + 1]
    targets = [
        chosen if each.share == chosen.choices.share else test.tried(each)
        for each in _targets(chosen.choices)
        if each.share in shares
    ]
    return worth_of(
        with_forecast.score,
        chosen.score,
        [each.score for each in targets],
        is_better=test.cost(with_forecast) < test.cost(chosen),
    )


def _split(problem: Problem) -> tuple[_Part, _Part]:
    """The test is replayed from the start on, so that a forecast has learned, but only its last third is scored."""
    whole = problem.scenario.range
    seconds = whole.end_unix_seconds - whole.start_unix_seconds
    middle = whole.start_unix_seconds + seconds * 2 // 3 // whole.step_seconds * whole.step_seconds
    learned = whole.start_unix_seconds + (
        LEARNING_SECONDS if seconds * 2 // 3 >= 2 * LEARNING_SECONDS else 0
    )
    train = _limited(whole, end=middle, scored_from=learned)
    test = _limited(whole, end=whole.end_unix_seconds, scored_from=middle)
    return (
        _Part(scenario=msgspec.structs.replace(problem.scenario, range=train), problem=problem),
        _Part(scenario=msgspec.structs.replace(problem.scenario, range=test), problem=problem),
    )


def _limited(whole: Range, *, end: int, scored_from: int) -> Range:
    return msgspec.structs.replace(
        whole, end_unix_seconds=end, scored_from_unix_seconds=scored_from
    )
