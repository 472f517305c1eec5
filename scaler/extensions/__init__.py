"""What a LoadAutoscaler has beyond an HPA: pure, one module or package each, in the order in which they apply.

The hooks are those of `scaler.algorithm.extension`. HPAs run without any of these.
"""

from typing import Any

from scaler.algorithm.extension import Extension
from scaler.api.kinds import LOAD_AUTOSCALERS, WatchedKind
from scaler.api.schedules import FoundCalendar
from scaler.extensions.actual_requests import ActualRequests
from scaler.extensions.candidate.stage import Candidate
from scaler.extensions.deletion_cost import DeletionCost
from scaler.extensions.dry_run import DryRun
from scaler.extensions.fallback import Fallback
from scaler.extensions.forecast.stage import Forecasting
from scaler.extensions.forecast.state import WarmStart
from scaler.extensions.formula.metric import Formulas
from scaler.extensions.futility import Futility
from scaler.extensions.hottest_revision import HottestRevision
from scaler.extensions.panic import Panic
from scaler.extensions.pod_selection import PodSelection
from scaler.extensions.rollout import Rollout
from scaler.extensions.scale_to_zero import ScaleToZero
from scaler.extensions.schedules.stage import Schedules
from scaler.extensions.suspension import Suspend

Extensions = tuple[Extension[Any, Any], ...]

DECIDING: Extensions = (
    Formulas(),
    Fallback(),
    ActualRequests(),
    # Before what may hold a scale-up that it causes.
    Panic(),
    Rollout(),
    HottestRevision(),
    ScaleToZero(),
    Futility(),
)
"""What changes how metrics become a count. A candidate decides with the same."""

EXTENSIONS: Extensions = (
    Schedules(),
    Forecasting(),
    PodSelection(),
    *DECIDING,
    Candidate(DECIDING),
    Suspend(),
    DryRun(),
    DeletionCost(),
)

STEP_TYPES = tuple((each.name, each.step_type) for each in EXTENSIONS if each.step_type)
"""The types of the steps of a derivation, by their names."""


def inputs_of(
    *, calendars: tuple[FoundCalendar, ...] = (), warm_start: WarmStart | None = None
) -> dict[str, object]:
    """What extensions need beside the metrics, by their names: all that there is, and where it goes."""
    return {Schedules.name: calendars, Forecasting.name: warm_start}


def extensions_of(kind: WatchedKind) -> Extensions:
    """Those of a kind of autoscaler."""
    return EXTENSIONS if kind == LOAD_AUTOSCALERS else ()
