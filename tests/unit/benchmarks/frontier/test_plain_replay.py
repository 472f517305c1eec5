"""The short replay takes the same counts as the decisions of the scaler."""

import random

import pytest

from benchmarks.forecast_policies import MAX_REPLICAS, Policy
from benchmarks.frontier.plain_replay import Plain, plain_counts, seen
from benchmarks.traces.replay import Setup, replay
from benchmarks.traces.trace import Trace

DELAY_MINUTES = 1
FULL = 100.0


def delayed(loads):
    known = [None] * DELAY_MINUTES + list(loads)[: len(loads) - DELAY_MINUTES]
    return [None if each is None else round(each * 1000) for each in known]


def both(loads, *, target, start_up_minutes=2, tolerance=0.1, ahead=None, replicas=5):
    """The counts of the scaler, and those of the short replay."""
    trace = Trace(name="load", start_unix_seconds=1_728_000_000, loads=tuple(loads))
    values = None if ahead is None else delayed(ahead)

    def reading(_, at):
        index = int((at - trace.start_unix_seconds) // 60)
        return ahead[index] if 0 <= index < len(ahead) else None

    policy = Policy(
        name="one", tolerance=tolerance, ahead=None if ahead is None else lambda *_: reading
    )
    setup = Setup(start_up_seconds=60 * start_up_minutes, replicas=replicas)
    steps = replay(
        policy.autoscaler(FULL * target),
        policy.settings,
        trace,
        setup,
        others=policy.others(trace, 0),
    )
    plain = Plain(
        target_milli=round(FULL * target * 1000),
        tolerance=tolerance,
        max_replicas=MAX_REPLICAS,
        start_up_minutes=start_up_minutes,
        replicas=replicas,
    )
    metrics = [delayed(loads)] if values is None else [delayed(loads), values]
    found = plain_counts(plain, seen(metrics))
    return (
        [(each.requested, each.ready) for each in steps],
        list(zip(found.requested, found.ready, strict=True)),
    )


def random_loads(seed, minutes=600):
    """Ramps, jumps, spikes, zeros, noise and gaps."""
    chosen, level, loads = random.Random(seed), 500.0, []
    while len(loads) < minutes:
        kind = chosen.choice(["flat", "ramp", "noise", "zero", "gap", "spike", "jump"])
        for _ in range(chosen.randint(1, 40)):
            if kind == "ramp":
                level *= chosen.choice([0.93, 1.08])
            if kind == "jump":
                level = chosen.uniform(0.0, 9000.0)
                kind = "flat"
            level = min(max(level, 1.0), 30_000.0)
            value = {"zero": 0.0, "gap": None, "spike": level * 30}.get(kind, level)
            if kind == "noise":
                value = level * chosen.uniform(0.5, 1.5)
            loads.append(value)
            kind = "flat" if kind == "spike" else kind
    return loads[:minutes]


@pytest.mark.parametrize("seed", range(12))
def test_random_loads_lead_to_the_counts_of_the_scaler(seed):
    chosen = random.Random(1000 + seed)
    of_scaler, short = both(
        random_loads(seed),
        target=chosen.choice([0.5, 0.55, 0.7, 0.9]),
        start_up_minutes=chosen.choice([1, 2, 5]),
        tolerance=chosen.choice([0.1, 0.0]),
        replicas=chosen.choice([1, 5, 80]),
    )
    assert short == of_scaler


@pytest.mark.parametrize("seed", range(12))
def test_a_second_metric_with_gaps_leads_to_the_counts_of_the_scaler(seed):
    chosen = random.Random(2000 + seed)
    of_scaler, short = both(
        random_loads(seed),
        ahead=random_loads(100 + seed),
        target=chosen.choice([0.5, 0.55, 0.7, 0.9]),
        start_up_minutes=chosen.choice([2, 5]),
    )
    assert short == of_scaler


def test_the_random_loads_reach_the_bounds_the_tolerance_and_a_failed_metric():
    """So that the comparison above means something."""
    counts = [
        requested for seed in range(12) for requested, _ in both(random_loads(seed), target=0.7)[1]
    ]
    assert {1, MAX_REPLICAS} <= set(counts)
    assert len(set(counts)) > 50
