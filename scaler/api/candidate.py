"""The fields of the steps in `spec.candidate`, and of `status.candidate`.

The policy of a candidate has the fields of a spec: `scaler.api.autoscaler.CandidateSpec`.
"""

from scaler.api.json_object import JsonObject
from wire.api.meta import always


class CandidateStep(JsonObject, frozen=True, kw_only=True):
    """For how long a candidate has which share of the decision."""

    weight_percent: int
    hold_seconds: int


class CandidateStatus(JsonObject, frozen=True, kw_only=True):
    """Where a candidate stands: the share of the difference that it decides now, and both counts."""

    weight_percent: int = always(0)
    step: int = always(0)
    spec_replicas: int | None = None
    candidate_replicas: int | None = None
