"""All metrics to one recommendation (upstream's `computeReplicasForMetrics`, after the selector)."""

from collections.abc import Iterable, Sequence

import msgspec

from scaler.algorithm.memory import MetricRecord
from scaler.algorithm.propose import MetricFailure, Proposal, propose
from scaler.algorithm.readings import Signal
from scaler.algorithm.remark import Remark
from scaler.algorithm.workload import Workload
from scaler.extensions.fallback import with_fallbacks
from scaler.extensions.formula.metric import formula_remark, inputs_of


class Recommended(msgspec.Struct, frozen=True, kw_only=True):
    """What the metrics ask for together.

    `replicas is None` when they allow no decision, because all failed, or some did and the others would
    scale down; `blocking` is then the first failure. `error` is set whenever a metric failed.
    """

    proposals: tuple[Proposal, ...]
    replicas: int | None
    winner: int | None = None
    blocking: MetricFailure | None = None
    error: str = ""
    records: tuple[MetricRecord, ...] = ()
    """What to remember of the metrics that have a fallback."""
    remarks: tuple[Remark, ...] = ()

    @property
    def winner_name(self) -> str:
        """The winning metric's name in messages."""
        return "" if self.winner is None else self.proposals[self.winner].derivation.name


def recommend(
    signals: Sequence[Signal], workload: Workload, records: Iterable[MetricRecord] = ()
) -> Recommended:
    """Evaluate every metric, and take the largest proposal. `records` are those of the metrics with a fallback."""
    proposals = tuple(propose(each.metric, each.reading, workload) for each in signals)
    remark: Remark | None = None
    if any(each.metric.formula is not None for each in signals):
        proposals = _with_formulas(signals, proposals, workload)
        remark = formula_remark([each.metric for each in signals])
    fell_back = with_fallbacks(signals, proposals, records, workload)
    recommended = _combine(fell_back.proposals, workload.spec_replicas)
    remarks = fell_back.remarks if remark is None else (*fell_back.remarks, remark)
    if not remarks:
        return recommended
    return msgspec.structs.replace(recommended, records=fell_back.records, remarks=remarks)


def _with_formulas(
    signals: Sequence[Signal], proposals: tuple[Proposal, ...], workload: Workload
) -> tuple[Proposal, ...]:
    """Compute the formulas, once all other metrics are known."""
    known = zip(signals, proposals, strict=True)
    inputs = inputs_of((each.metric, proposal.derivation) for each, proposal in known)
    return tuple(
        proposal if each.metric.formula is None else propose(each.metric, inputs, workload)
        for each, proposal in zip(signals, proposals, strict=True)
    )


def _combine(proposals: tuple[Proposal, ...], spec_replicas: int) -> Recommended:
    # An input that fails is a matter of the metrics that use it.
    scaling = [proposal for proposal in proposals if not proposal.derivation.is_input]
    failures = [proposal.failure for proposal in scaling if proposal.failure is not None]
    winner, replicas = _largest(proposals)
    if not scaling:
        return Recommended(
            proposals=proposals, replicas=None, error="every metric is only an input"
        )
    if not failures:
        return Recommended(proposals=proposals, replicas=replicas, winner=winner)
    error = (
        f"invalid metrics ({len(failures)} invalid out of {len(scaling)}), "
        f"first error is: {failures[0].error}"
    )
    # While some metrics are unknown, fewer replicas may be too few: only scale up, or stay.
    if len(failures) == len(scaling) or replicas < spec_replicas:
        return Recommended(
            proposals=proposals, replicas=None, winner=winner, blocking=failures[0], error=error
        )
    return Recommended(proposals=proposals, replicas=replicas, winner=winner, error=error)


def _largest(proposals: Sequence[Proposal]) -> tuple[int | None, int]:
    """The first of the largest; but while the best is 0, a later one replaces it, even a smaller one."""
    winner, replicas = None, 0
    for index, proposal in enumerate(proposals):
        proposed = proposal.derivation.proposal
        if proposed is not None and (replicas == 0 or proposed > replicas):
            winner, replicas = index, proposed
    return winner, replicas
