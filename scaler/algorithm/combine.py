"""All metrics to one recommendation (upstream's `computeReplicasForMetrics`, after the selector)."""

from collections.abc import Sequence

import msgspec

from scaler.algorithm.propose import MetricFailure, Proposal


class Recommended(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the metrics ask for together.

    `replicas is None` when they allow no decision, because all failed, or some did and the others would
    scale down; `blocking` is then the first failure. `error` is set whenever a metric failed.
    """

    proposals: tuple[Proposal, ...]
    replicas: int | None
    winner: int | None = None
    blocking: MetricFailure | None = None
    error: str | None = None
    is_spec_error: bool = False
    """Whether the first failure is one of the spec, not of the metrics API."""

    @property
    def winner_name(self) -> str:
        """The winning metric's name in messages."""
        return "" if self.winner is None else self.proposals[self.winner].derivation.name


def combine(proposals: tuple[Proposal, ...], spec_replicas: int) -> Recommended:
    """The largest proposal; no count where failed metrics might have proposed more."""
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
    is_blocked = len(failures) == len(scaling) or replicas < spec_replicas
    return Recommended(
        proposals=proposals,
        replicas=None if is_blocked else replicas,
        winner=winner,
        blocking=failures[0] if is_blocked else None,
        error=error,
        is_spec_error=failures[0].is_spec_error,
    )


def _largest(proposals: Sequence[Proposal]) -> tuple[int | None, int]:
    """The first of the largest; but while the best is 0, a later one replaces it, even a smaller one."""
    winner, replicas = None, 0
    for index, proposal in enumerate(proposals):
        proposed = proposal.derivation.proposal
        if proposed is not None and (replicas == 0 or proposed > replicas):
            winner, replicas = index, proposed
    return winner, replicas
