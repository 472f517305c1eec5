"""The count that the spec, or the candidate, would have on its own.

While a step applies a part of the difference, the target has a count that neither of them has decided. Tolerance, windows
and policies keep or limit "the current count". From the count between both, they would let each reconcile apply the same part
of what is left of the difference, until all of it is applied. So each decides from the count that it decided last, as long as
the target has the count that resulted. If it has another one, for example because a user has set it, both begin from that.

The target itself changes by no more than the policies of one of both allow from the count that it has.
"""

from collections.abc import Sequence

import msgspec

from scaler.algorithm.draft import Draft, Turn
from scaler.algorithm.extension import Extension, Part
from scaler.algorithm.memory import Memory
from scaler.algorithm.normalize import bounded
from scaler.algorithm.policy import Policy
from scaler.algorithm.propose import Proposal
from scaler.algorithm.replicas import WITHIN_TOLERANCE
from scaler.extensions.candidate.state import CandidateState


class OwnTolerance(Extension[bool, None]):
    """The usage of pods shows by how much the count of the target is wrong, not by how much the own count is."""

    name = "own-tolerance"

    def proposals(self, rules: bool, draft: Draft) -> None:
        """Keep the own count where what a metric proposes is within the tolerance of it."""
        draft.proposals = tuple(_kept(each, draft) for each in draft.proposals)


def _kept(proposal: Proposal, draft: Draft) -> Proposal:
    own, found = draft.turn.current_replicas, proposal.derivation
    if found.proposal is None or found.kept or found.proposal == own or own == 0:
        return proposal
    if not draft.turn.policy.tolerances.is_within(found.proposal / own):
        return proposal
    derivation = msgspec.structs.replace(found, proposal=own, kept=WITHIN_TOLERANCE)
    return msgspec.structs.replace(proposal, derivation=derivation)


OWN_TOLERANCE = Part(OwnTolerance(), True)


def is_applied(state: CandidateState, turn: Turn) -> bool:
    """Whether the target has what resulted from the last decision, or nothing was decided yet."""
    return OWN_TOLERANCE in turn.parts or state.result_replicas in (None, turn.current_replicas)


def from_count(turn: Turn, replicas: int | None) -> Turn:
    """The turn of a target that has so many replicas, of which as many are missing, within the bounds; None: the target as it is."""
    scale, policy = turn.scale, turn.policy
    if replicas is None:
        return turn
    replicas = max(policy.min_replicas, min(replicas, policy.max_replicas))
    if replicas == scale.spec_replicas:
        return turn
    status_replicas = max(0, scale.status_replicas + replicas - scale.spec_replicas)
    scale = msgspec.structs.replace(scale, spec_replicas=replicas, status_replicas=status_replicas)
    return msgspec.structs.replace(
        turn,
        scale=scale,
        replicas_of_target=turn.current_replicas,
        parts=(OWN_TOLERANCE, *turn.parts),
    )


def within_policies(turn: Turn, replicas: int, policies: Sequence[tuple[Memory, Policy]]) -> int:
    """As far as one of the policies allows. Each has the memory of all changes of the target."""
    current = turn.current_replicas
    allowed = [
        bounded(memory, policy, turn.moment, current=current, desired=replicas).after
        for memory, policy in policies
    ]
    return max(allowed) if replicas > current else min(allowed)
