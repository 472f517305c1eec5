"""How a decision was computed: every number on the way, as a record that `why` prints and a backtest keeps.

A field is None when its step was not reached. Values of metrics are thousandths (`_milli`).
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from scaler.algorithm.policy import Tolerances
from scaler.algorithm.remark import Remark


class PodGroups(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The target's pods, each in exactly one group, in the order they were listed."""

    ready: tuple[str, ...] = ()
    unready: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    succeeded: tuple[str, ...] = ()
    """Ignored, too; empty for kinds that do not leave them out."""


class FillIn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The second pass, which assumes values for pods that were left out of the first.

    `missing_milli` is per pod (None: not filled in); unready pods count as 0 when `unready_as_zero`.
    `samples` is how many values the second ratio is made of. `usage_ratio` is None if JSON has no such number: it is infinite
    for a target of 0 thousandths.
    """

    missing_milli: dict[str, int] | None = None
    unready_as_zero: bool = False
    usage_ratio: float | None = None
    samples: int


class MetricDerivation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How one metric got from its value to a proposal, or to `failure`.

    `kept` says why the count was kept, empty when it was computed: `WithinTolerance`,
    `WithinToleranceAfterFillIn`, `DirectionChanged`, `CountAgainstDirection`.
    """

    type: str
    name: str = ""
    target: str = ""
    value_milli: int | None = None
    average_milli: int | None = None
    utilization_percent: int | None = None
    usage_ratio: float | None = None
    tolerances: Tolerances | None = None
    groups: PodGroups | None = None
    ready_pods: int | None = None
    fill_in: FillIn | None = None
    kept: str = ""
    proposal: int | None = None
    failure: str = ""
    is_spec_error: bool = False
    """Whether it failed because of the spec."""
    computed_from: str = ""
    """What it was computed from if not from its own value: other metrics, or some of the pods, in words."""
    is_input: bool = False
    """Whether it has no proposal without having failed: it is only measured, or there are no pods to measure."""
    sentence: str = ""
    """What `why` says instead of the numbers, where something made a proposal in spite of the failure."""


def value_for_target(metric: MetricDerivation) -> float | None:
    """The value that is compared with the target: percent for a utilization, else that for each pod or for all of them."""
    if metric.utilization_percent is not None:
        return float(metric.utilization_percent)
    value_milli = metric.average_milli if metric.value_milli is None else metric.value_milli
    return None if value_milli is None else value_milli / 1000


class Stabilization(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the recent recommendations did. `deciding_*` name the one that decided, if any did.

    `deciding_made_at_unix_seconds` is when it was last made.
    """

    up_window_seconds: float | None = None
    down_window_seconds: float
    recommended: int
    stabilized: int
    deciding_replicas: int | None = None
    deciding_made_at_unix_seconds: float | None = None
    reason: str = ""


class PolicyLimit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One policy's limit, from the count at the start of its period."""

    type: str
    value: int
    period_seconds: int
    period_start_replicas: int
    limit: int


class Rate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How far this reconcile may go. `policies` is empty without `behavior` (double, or 4)."""

    direction: str
    select_policy: str = ""
    policies: tuple[PolicyLimit, ...] = ()
    limit: int


class Bound(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The last step: rate, minimum and maximum. `reason` is ScalingLimited's."""

    rate: Rate | None = None
    min_replicas: int
    max_replicas: int
    before: int
    after: int
    reason: str


class Derivation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The whole decision. `winner` is the index of the metric that decided."""

    autoscaler: str
    made_at_unix_seconds: float
    branch: str
    problem: str = ""
    current_replicas: int | None = None
    status_replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    metrics: tuple[MetricDerivation, ...] = ()
    winner: int | None = None
    proposed: int | None = None
    stabilization: Stabilization | None = None
    bound: Bound | None = None
    lifted_to_min: bool = False
    held: str = ""
    """Why the target was not scaled down; empty when nothing held it."""
    held_by: str = ""
    """The reason of the condition ScalingLimited for that, for instance OutdatedCache."""
    is_dry_run: bool = False
    """Whether `desired_replicas` is only reported."""
    remarks: tuple[Remark, ...] = ()
    desired_replicas: int | None = None
    rescale_reason: str = ""
    rescale_error: str = ""
    steps: dict[str, Any] = {}
    """What each extension did, by its name."""


def encoded(derivation: Derivation, **more: str) -> bytes:
    """As JSON, in which the steps of extensions and `more` stand beside the fields."""
    fields = {name: getattr(derivation, name) for name in Derivation.__struct_fields__}
    steps = fields.pop("steps")
    return msgspec.json.encode({**fields, **steps, **more})


def decoded(body: bytes, step_types: Iterable[tuple[str, Any]]) -> Derivation:
    """What was `encoded`; `step_types` are those of the steps by their names. Raises `msgspec.DecodeError`."""
    found = msgspec.json.decode(body, type=Derivation)
    raw = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    steps = {
        name: msgspec.json.decode(raw[name], type=step_type)
        for name, step_type in step_types
        if name in raw
    }
    return msgspec.structs.replace(found, steps=steps)
