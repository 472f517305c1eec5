"""What was measured: one reading per metric of the spec, in its order.

`signal.samples` makes them from the answers of the metrics APIs, `signal.signal` pairs them with the metrics.
"""

from collections.abc import Mapping

import msgspec

from scaler.api.autoscaler import MetricSpec


class PodSample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One pod's value in thousandths, int64 as upstream keeps it: 1.5 requests/s is 1500."""

    value_milli: int
    sampled_at_unix_seconds: float = 0.0
    window_seconds: float = 0.0


class PodSamples(msgspec.Struct, frozen=True, gc=False):
    """The values of a Pods, Resource or ContainerResource metric by pod name."""

    by_pod: Mapping[str, PodSample]


class ObjectValue(msgspec.Struct, frozen=True, gc=False):
    """The one value of an Object metric, in thousandths (int64)."""

    value_milli: int


class ExternalValues(msgspec.Struct, frozen=True, gc=False):
    """Every item of an External metric, in thousandths (int64), in the order of the answer."""

    values_milli: tuple[int, ...]


class ComputedFrom(msgspec.Struct, frozen=True):
    """What a metric is computed from: the other metrics by name, in SI units, or why they failed.

    Nothing is read for such a metric, so it is empty until the other metrics have been evaluated.
    """

    values: Mapping[str, "float | FailedInput"] = {}


class FailedInput(msgspec.Struct, frozen=True):
    """A metric without a value, and why."""

    message: str


class MetricFailed(msgspec.Struct, frozen=True):
    """The metric has no usable value; the algorithm continues with the others.

    `message` is the innermost layer, as upstream's metrics client words it ("unable to fetch
    metrics from custom metrics API: ..."); `recommend` puts the outer layers around it.
    """

    message: str


Reading = PodSamples | ObjectValue | ExternalValues | ComputedFrom | MetricFailed


class Signal(msgspec.Struct, frozen=True):
    """A metric of the spec and its value, which fits the metric's type unless it is a `MetricFailed`."""

    metric: MetricSpec
    reading: Reading
