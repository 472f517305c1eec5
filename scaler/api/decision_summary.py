"""The last decision in the status of a LoadAutoscaler."""

from scaler.api.json_object import JsonObject


class DecisionSummary(JsonObject, frozen=True, kw_only=True):
    """A LoadAutoscaler's last decision in a few words; without a time, which would change it at every sync."""

    summary: str
    proposed_replicas: int | None = None
    stabilized_replicas: int | None = None
    limited_by: str = ""
    held_by: str = ""
