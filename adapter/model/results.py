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
    clock_seconds: float | None = None
    """When it was evaluated by the clock of Prometheus, which need not be right; None: not known, as without rows."""
    size_bytes: int = 0
    """What the whole result takes in memory, as it was counted while it was read; 0: nothing was counted."""

    def samples_now(self, now_seconds: float, *, ahead_seconds: float = 0.0) -> float:
        """`now_seconds` by the clock that has given the samples their times. `ahead_seconds`: how far ahead it is if this does not tell."""
        if self.clock_seconds is None:
            return now_seconds + ahead_seconds
        # Prometheus has read its clock before it evaluated, and `evaluated_at_seconds` is when its response had arrived.
        sent_at_seconds = self.evaluated_at_seconds - self.cost.seconds
        return self.clock_seconds + now_seconds - sent_at_seconds
