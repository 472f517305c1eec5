"""What Prometheus returned."""

import enum
from collections.abc import Mapping, Sequence

import msgspec


class ResultKind(enum.Enum):
    """The `resultType` of a Prometheus response."""

    VECTOR = "vector"
    SCALAR = "scalar"
    MATRIX = "matrix"
    STRING = "string"


class Sample(msgspec.Struct, frozen=True, gc=False):
    """One row of an instant vector; a scalar is a row without labels.

    Not followed by the garbage collector: a result has thousands of rows, and their labels are texts.
    """

    labels: Mapping[str, str]
    value: float
    timestamp_seconds: float
    is_histogram: bool = False  # a native histogram, which has no single value: NaN


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluation took."""

    seconds: float = 0.0
    """From when the query was sent until the response was complete."""
    samples: int | None = None
    """Stored samples that Prometheus has read for it; None if the backend does not say."""


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a plan. `samples` is empty for kinds without usable values (matrix, string).

    `by_key` are the samples by the values of the plan's `key_labels`; empty for a plan without them.
    """

    samples: tuple[Sample, ...]
    evaluated_at_seconds: float
    kind: ResultKind = ResultKind.VECTOR
    warnings: tuple[str, ...] = ()
    partial: bool = False  # some of the stores behind the backend did not answer
    by_key: Mapping[tuple[str, ...], Sequence[Sample]] = {}
    cost: Cost = Cost()
    ahead_seconds: float = 0.0
    """How far the clock that has given the samples their times, which need not be right, is ahead of the monotonic clock of this process.
    Without rows it is not known, and not needed.
    """
    size_bytes: int = 0
    """What the whole result takes in memory, as it was counted while it was read; 0: nothing was counted."""

    def samples_now(self, now_seconds: float) -> float:
        """The time of the monotonic clock by the clock that has given the samples their times."""
        return now_seconds + self.ahead_seconds
