"""Metrics to a desired count, for one policy (upstream's `computeReplicasForMetrics` and `normalizeDesiredReplicas...`)."""

from collections.abc import Sequence

from scaler.algorithm.combine import combine
from scaler.algorithm.draft import Draft, Turn
from scaler.algorithm.normalize import bounded, stabilized
from scaler.algorithm.propose import propose
from scaler.algorithm.readings import Signal


def compute(turn: Turn, signals: Sequence[Signal]) -> Draft:
    """What this policy decides; without a count in `recommended` where the metrics allow none."""
    draft = recommend(turn, signals)
    for part in turn.parts:
        part.extension.recommended(part.rules, draft)
    found = draft.recommended
    if found is None or found.replicas is None:
        for part in turn.parts:
            part.extension.blocked(part.rules, draft)
        return draft
    draft.replicas = max(0, found.replicas)
    for part in turn.parts:
        part.extension.recommendation(part.rules, draft)
    draft.proposed = draft.replicas
    draft.stabilization, draft.memory = stabilized(
        draft.memory,
        turn.policy,
        turn.moment,
        current=turn.current_replicas,
        recommended=draft.replicas,
    )
    draft.replicas = draft.stabilization.stabilized
    for part in turn.parts:
        part.extension.stabilized(part.rules, draft)
    draft.bound = bounded(
        turn.memory,
        turn.policy,
        turn.moment,
        current=turn.current_replicas,
        desired=draft.replicas,
        period_replicas=turn.period_replicas,
    )
    draft.replicas = draft.bound.after
    for part in turn.parts:
        part.extension.bounded(part.rules, draft)
    return draft


def recommend(turn: Turn, signals: Sequence[Signal]) -> Draft:
    """Evaluate every metric, and take the largest proposal."""
    draft = Draft(turn, signals)
    workload = draft.workload
    draft.proposals = tuple(propose(each.metric, each.reading, workload) for each in signals)
    for part in turn.parts:
        part.extension.proposals(part.rules, draft)
    draft.recommended = combine(draft.proposals, turn.current_replicas)
    return draft
