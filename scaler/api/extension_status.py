"""What only the status of a LoadAutoscaler has, apart from its schedules."""

from msgspec import field

from scaler.api.json_object import JsonObject
from wire.api.meta import always


class DecisionSummary(JsonObject, frozen=True, kw_only=True):
    """A LoadAutoscaler's last decision in a few words; without a time, which would change it at every sync."""

    summary: str
    proposed_replicas: int | None = None
    stabilized_replicas: int | None = None
    limited_by: str = ""
    held_by: str = ""


class ForecastDay(JsonObject, frozen=True, kw_only=True):
    """The last 24 hours in replica-minutes: without the forecast, added by it, and those of them that the load needed."""

    alone_replica_minutes: int = always(0)
    added_replica_minutes: int = always(0)
    needed_replica_minutes: int = always(0)


class ForecastStatus(JsonObject, frozen=True, kw_only=True):
    """What the forecast wants now, and what it was worth. In a dry run, what it would have added."""

    replicas: int | None = None
    added_replicas: int = always(0)
    last_24_hours: ForecastDay | None = field(default=None, name="last24Hours")


class CandidateStatus(JsonObject, frozen=True, kw_only=True):
    """Where a candidate stands: the share of the difference that it decides now, and both counts."""

    weight_percent: int = always(0)
    step: int = always(0)
    spec_replicas: int | None = None
    candidate_replicas: int | None = None
