"""The invariant of what a scaler uses: requests, events, log lines and the like."""

from collections import Counter
from collections.abc import Iterator

from tests.simulation.faults import METRIC_SOURCES
from tests.simulation.fields import Fields
from tests.simulation.invariants import Run, Violation
from tests.simulation.ownership import SHARDS
from tests.simulation.scenario import AutoscalerPlan

# As of the HPA controller: client-go writes 25 events about an object at once, and then one in 300 s.
EVENTS_AT_ONCE, SECONDS_PER_EVENT = 25, 300.0
# An event whose write fails is written again, at most so often.
EVENT_TRIES = 12
# A request that is answered with 429 is sent again, at most so often.
BUSY_RETRIES_MAX = 3
NO_FIELDS = Fields()
# Faults of metrics that are different in each response.
CHANGING = ("garbage", "gaps")


def within_budgets(run: Run) -> Iterator[Violation]:
    """Requests, events, log lines, tasks, connections and the size of a status stay within what is stated here."""
    scenario, journal = run.scenario, run.journal
    count, faults = len(scenario.autoscalers), len(run.faults)
    expected = sum(
        (2.0 + len(plan.groups) + 2 * plan.fields.deletes_least_busy)
        * scenario.period
        / run.period_of(plan)
        for plan in scenario.autoscalers
    )
    lives = len(journal.lives)
    requests = _of_scalers(run, journal.requests)
    events = sum(number for name, number in requests.items() if name.endswith(" events"))
    changes = len(journal.scales) + count * (faults + 1) + sum(map(_reported, scenario.autoscalers))
    unreliable = sum(
        fault.seconds / 30 for fault in run.faults if fault.kind in ("api", "writes", "restore")
    )
    # A metric, or kube-apiserver, that fails now and then, or each time in another way, changes a condition each time; of an HPA, each failure is an event.
    unsteady = [
        each
        for each in run.faults
        if each.kind in METRIC_SOURCES
        or (each.kind == "api" and each.share < 1)
        or (
            each.kind == "metrics"
            and (each.share < 1 or each.how in CHANGING or not scenario.kind.reports_changes_only)
        )
    ]
    changes += count * round(sum(each.seconds for each in unsteady) / scenario.period)
    budgets = {
        "requests": (
            requests.total(),
            1.3 * (scenario.end / scenario.period) * expected
            + _lease_requests(run)
            + 2 * 4 * scenario.end / 15 + 60 * lives + 100 * faults,
        ),
        "event writes": (events, 3 * changes + 20 + EVENT_TRIES * unreliable + _at_zero_events(run) + _refused_events(run)),
        "log lines": (
            _of_scalers(run, journal.log_lines).total(),
            40 + 25 * lives + 30 * faults * (1 + count) + _lease_log_lines(run),
        ),
        # One for each shard that is claimed, of which a few are written at once.
        "tasks": (journal.tasks_max, 30 + 4 * count + SHARDS * scenario.is_sharded),
        "connections": (journal.connections_max, 20 + 6 * count + 10 * scenario.is_sharded),
        "bytes of a status": (journal.status_bytes_max, 20_000),
    }  # fmt: skip
    for what, (used, most) in budgets.items():
        if used > most:
            yield Violation(
                invariant="within budgets",
                at=scenario.end,
                what=f"{used} {what}, at most {most:.0f} are stated",
            )


def _of_scalers(run: Run, counted: Counter[str]) -> Counter[str]:
    """What the replicas of the scaler have used, without the adapter."""
    return Counter(
        {
            name: number
            for name, number in counted.items()
            if name.partition(" ")[0].partition(".")[0] in run.scenario.replicas
        }
    )


def _at_zero_events(run: Run) -> float:
    """Of HPAs with metrics of pods, as of upstream: at zero there are none, which is an event each time."""
    if run.scenario.kind.reports_changes_only:
        return 0.0
    failing = [
        target
        for target, versions in run.journal.targets.items()
        if any(each.replicas == 0 for each in versions)
    ]
    times = len(failing) * len(run.journal.lives)
    return times * (EVENTS_AT_ONCE + run.scenario.end / SECONDS_PER_EVENT)


def _refused_events(run: Run) -> float:
    """Each replica writes its events one after the other. It sends one again as often as Retry-After says, then writes the next one."""
    seconds = sum(
        each.seconds / each.amount
        for each in run.faults
        if each.kind == "api" and each.how == "throttled"
    )
    return len(run.scenario.replicas) * seconds * (1 + BUSY_RETRIES_MAX) / BUSY_RETRIES_MAX


def _lease_requests(run: Run) -> float:
    """Per attempt one to four of each replica for a Lease; with shards for two, a LIST, and a few for each shard that moves."""
    scenario = run.scenario
    attempts = 2.5 * len(scenario.replicas) * scenario.end / scenario.retry_seconds
    moves = len(scenario.replicas) + len(run.journal.lives) + 2 * len(run.faults)
    return (2.2 * attempts + 3 * SHARDS * moves) if scenario.is_sharded else attempts


def _lease_log_lines(run: Run) -> float:
    """While requests fail now and then, each attempt for a Lease may end in another way; with shards there are three."""
    scenario = run.scenario
    seconds = sum(each.seconds for each in run.faults if each.kind == "api" and each.share < 1)
    attempts = seconds / scenario.retry_seconds * len(scenario.replicas)
    return attempts * (3 if scenario.is_sharded else 1)


def _reported(plan: AutoscalerPlan) -> int:
    """How often a condition of a field may change, or the proposal of a dry run."""
    return 0 if plan.fields == NO_FIELDS else 4 * len(plan.load.times)
