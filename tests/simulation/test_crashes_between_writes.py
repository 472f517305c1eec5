"""A process is killed after it has scaled a target, and before it has written the status: no wrong replica count follows.

The statuses of a burst wait for its scales, so that such a crash leaves many scales without their statuses.
"""

import random
from collections.abc import Iterator

import pytest

from tests.simulation.__main__ import SCENARIOS, described
from tests.simulation.faults import Fault
from tests.simulation.journal import Journal, ScaleWritten
from tests.simulation.scenario import Scenario
from tests.simulation.simulate import simulate

SEEDS = 3
# Those with the fewest reconciles of so many.
CHOSEN_FROM = 20
CRASHES_PER_SEED = 2
DOWN_SECONDS = 3.0
# How long after the server took the scale: before its response arrives, while the status waits, and just before it is sent.
MOMENTS_SECONDS = (0.0, 0.1, 0.19)


@pytest.mark.parametrize("scenarios", ["", "fields", "hpas", "shards"])
@pytest.mark.parametrize("number", range(SEEDS))
def test_a_crash_between_a_scale_and_its_status_makes_no_wrong_scale(
    number: int, scenarios: str
) -> None:
    of_each_seed = map(SCENARIOS[scenarios], range(CHOSEN_FROM))
    scenario = sorted(of_each_seed, key=lambda each: each.reconciles)[number]
    seed = scenario.seed
    undisturbed = simulate(seed, (), scenario=scenario).journal
    for crash in crashes(scenario, undisturbed):
        verdict = simulate(seed, [crash], scenario=scenario)
        assert not between(verdict.journal, crash), "the status was written before the crash"
        assert "\n".join(described(verdict, verdict) if verdict.violations else ()) == ""


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
