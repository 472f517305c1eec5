"""`spec.syncPeriodSeconds`, within its limits."""

from typing import Final

from scaler.api.autoscaler import AutoscalerSpec

# As in the CustomResourceDefinition, which limits nothing where an older or an edited one is installed.
SYNC_PERIOD_SECONDS_MIN: Final = 1
SYNC_PERIOD_SECONDS_MAX: Final = 3600


def own_period_seconds(spec: AutoscalerSpec) -> int | None:
    """What is written, or the nearest one that is allowed; None for that of the flag."""
    written = spec.sync_period_seconds
    if written is None:
        return None
    return min(max(written, SYNC_PERIOD_SECONDS_MIN), SYNC_PERIOD_SECONDS_MAX)
