"""Which requests for a metric belong together: the first one, and those that repeat it."""

from collections.abc import Iterator, Mapping, Sequence

from tests.simulation.invariants import Run, deadline_seconds
from tests.simulation.journal import Measurement, TargetRequest
from tests.simulation.scenario import AutoscalerPlan

# From an answer to the decision.
MOMENT_SECONDS = 0.1
# A request whose connection was closed is sent again within this time.
REPEATED_SECONDS = 1.0
# A server that is busy (429, Retry-After) is waited for so often, and so long at most each time.
BUSY_PAUSES, BUSY_PAUSE_SECONDS = 3, 3.0
# Part of the deadline of a metric, after which a direct request without a response is repeated through kube-apiserver.
DIRECT_DEADLINES = 0.5
# Around the deadline of a metric it is open whether an answer still counts.
DEADLINE_ERROR_SECONDS = 0.2

Attempts = Sequence[TargetRequest]
"""The requests of a reconcile for one metric; the answer to the last one counts, within the deadline from the first one."""

Measured = Mapping[tuple[str, str, float], Measurement]
"""The answers by process, API group and time of the request."""


def request_key(requested: TargetRequest) -> tuple[str, str, float]:
    """That of its answer in `Measured`."""
    return requested.process, requested.group, requested.at


def measured_of(run: Run, plan: AutoscalerPlan) -> Measured:
    """All answers about the target of an autoscaler."""
    return {
        (each.process, each.group, each.sent_at): each
        for each in run.journal.measurements
        if each.target == plan.key
    }


def attempts_by_process(
    run: Run, plan: AutoscalerPlan, measured: Measured
) -> dict[str, list[Attempts]]:
    """Those about the target of an autoscaler, for each process in the order of their first requests."""
    requested: dict[str, list[TargetRequest]] = {}
    for each in run.journal.target_requests:
        if each.target == plan.key and each.group in plan.groups:
            requested.setdefault(each.process, []).append(each)
    return {
        process: list(_attempts(run, plan, requested[process], measured))
        for process in sorted(requested)
    }


def is_left(run: Run, plan: AutoscalerPlan, answer: Measurement) -> bool:
    """Whether it answers the repetition of a request after the next reconcile of the process has sent its own.

    The earlier reconcile has been cancelled, as when the Lease was lost. Its request ends by itself, as others may share it.
    """
    by_process = attempts_by_process(run, plan, measured_of(run, plan))
    every = [
        each
        for each in by_process.get(answer.process, [])
        if each[0].group == answer.group and each[0].at <= answer.sent_at
    ]
    return any(each.at == answer.sent_at for attempts in every[:-1] for each in attempts)


def _attempts(
    run: Run, plan: AutoscalerPlan, requests: Sequence[TargetRequest], measured: Measured
) -> Sequence[Attempts]:
    """In the order of their first requests.

    What was requested for a reconcile that has been cancelled is still repeated while the next one requests it for itself.
    """
    found: list[list[TargetRequest]] = []
    of_groups: dict[str, list[list[TargetRequest]]] = {group: [] for group in plan.groups}
    for each in requests:
        latest = of_groups[each.group][-2:]
        repeated = [before for before in latest if _is_repeated(run, plan, before, each, measured)]
        if repeated:
            repeated[0].append(each)
        else:
            found.append([each])
            of_groups[each.group].append(found[-1])
    return found


def _is_repeated(
    run: Run, plan: AutoscalerPlan, attempts: Attempts, then: TargetRequest, measured: Measured
) -> bool:
    """Whether the same reconcile sends a request again: at once if the connection ended, after a pause if the server was busy, or
    through kube-apiserver if the adapter does not respond.
    """
    before = attempts[-1]
    answer = measured.get(request_key(before))
    # A server may answer later, on a connection that has ended.
    if answer is not None and answer.document is not None and answer.at <= then.at:
        return False
    deadline = deadline_seconds(run, plan)
    if then.at > attempts[0].at + deadline + DEADLINE_ERROR_SECONDS:
        return False
    if (
        before.is_direct
        and not then.is_direct
        and then.at <= before.at + DIRECT_DEADLINES * deadline + REPEATED_SECONDS
    ):
        return True
    pauses = _busy_pauses(run, before.at) if len(attempts) <= BUSY_PAUSES else []
    ended_at = [each for each in _connections_ended_at(run) if before.at < each <= then.at]
    if answer is not None and answer.was_cut:
        ended_at.append(answer.at)
    expected_at = [before.at, *(before.at + each for each in pauses), *ended_at]
    return any(-MOMENT_SECONDS <= then.at - each <= REPEATED_SECONDS for each in expected_at)


def _busy_pauses(run: Run, at: float) -> list[float]:
    """How long a server that was busy then may be waited for until the next attempt, in seconds."""
    return [
        min(each.amount, BUSY_PAUSE_SECONDS)
        for each in run.faults
        if each.how == "throttled" and each.at <= at + MOMENT_SECONDS and at <= each.at + each.seconds + MOMENT_SECONDS
    ]  # fmt: skip


def _connections_ended_at(run: Run) -> Iterator[float]:
    """When another API server, or another state of it, was reached."""
    for each in run.faults:
        if each.kind in ("balancer", "restore"):
            yield from (each.at, each.at + each.seconds)
