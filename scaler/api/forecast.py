"""The fields of `spec.forecast` and `status.forecast`."""

from enum import StrEnum

from msgspec import field

from scaler.api.json_object import JsonObject
from wire.api.meta import always


class ForecastMode(StrEnum):
    """What a forecast may do."""

    OFF = "Off"
    DRY_RUN = "DryRun"
    ADD = "Add"


class ForecastSpec(JsonObject, frozen=True, kw_only=True):
    """A forecast of one metric, by its name in the spec: it may add replicas ahead of the load, never remove any."""

    metric: str
    mode: str = ""
    lead_seconds: int | None = None
    budget_percent: int | None = None
    max_extra_percent: int | None = None
    max_waste_percent: int | None = None
    time_zone: str = ""


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
