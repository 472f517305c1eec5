"""A process is killed after it has scaled a target, and before it has written the status: no wrong replica count follows.

The statuses of a burst wait for its scales, so that such a crash leaves many scales without their statuses.
"""

import itertools
import random
from collections.abc import Iterator

import pytest

from tests.simulation.__main__ import SCENARIOS, described
from tests.simulation.faults import Fault
from tests.simulation.journal import Journal, ScaleWritten
from tests.simulation.scenario import Scenario
from tests.simulation.simulate import simulate

# Those with the fewest reconciles of so many, if something is scaled in them.
SEEDS, CHOSEN_FROM = 3, 20
CRASHES_PER_SEED = 2
DOWN_SECONDS = 3.0
# How long after the server took the scale: before its response arrives, while the status waits, and just before it is sent.
MOMENTS_SECONDS = (0.0, 0.1, 0.19)


@pytest.mark.parametrize("scenarios", ["", "fields", "hpas", "shards"])
def test_a_crash_between_a_scale_and_its_status_makes_no_wrong_scale(scenarios: str) -> None:
    with_crashes = list(itertools.islice(chosen(scenarios), SEEDS))
    assert len(with_crashes) == SEEDS, "too few seeds have a scale"
    for scenario, crash in [(each, crash) for each, found in with_crashes for crash in found]:
        verdict = simulate(scenario.seed, [crash], scenario=scenario)
        assert not between(verdict.journal, crash), "the status was written before the crash"
        assert "\n".join(described(verdict, verdict) if verdict.violations else ()) == ""


def chosen(scenarios: str) -> Iterator[tuple[Scenario, list[Fault]]]:
    """Scenarios and their crashes, the one with the fewest reconciles first."""
    of_each_seed = map(SCENARIOS[scenarios], range(CHOSEN_FROM))
    for scenario in sorted(of_each_seed, key=lambda each: each.reconciles):
        found = list(crashes(scenario, simulate(scenario.seed, (), scenario=scenario).journal))
        if found:
            yield scenario, found


def crashes(scenario: Scenario, undisturbed: Journal) -> Iterator[Fault]:
    """At some of the scales; until then, everything happens as without them."""
    rng = random.Random(f"crashes {scenario.seed}")
    written = [each for each in undisturbed.scales if each.at < scenario.calm_at]
    for each in rng.sample(written, k=min(CRASHES_PER_SEED, len(written))):
        yield Fault(
            kind="kill",
            at=each.at + rng.choice(MOMENTS_SECONDS),
            seconds=DOWN_SECONDS,
            who=each.process.partition(".")[0],
            where=each.target,
        )


def between(journal: Journal, crash: Fault) -> list[str]:
    """Statuses of the target's autoscaler that were written after its last scale and before the crash."""
    scale: ScaleWritten = [
        each for each in journal.scales if each.target == crash.where and each.at <= crash.at
    ][-1]
    return [
        each.key
        for each in journal.statuses
        if each.key == crash.where and scale.at < each.at <= crash.at
    ]
