"""What of a response counts as a change of it."""

import msgspec

from adapter.answer.answering import AnswerDocument
from wire.api.custom_metrics import MetricValueList, MetricValueListV1beta1
from wire.api.external_metrics import ExternalMetricValueList

_encode = msgspec.json.Encoder(order="deterministic").encode


def compared_values(document: AnswerDocument) -> bytes:
    """Everything in it that can change, except for the timestamps, which move with each evaluation: as JSON, whose size is known.

    A contract on the age of samples has been applied before: a value that is too old is another value, or a failure.
    """
    match document:
        case MetricValueList() | MetricValueListV1beta1():
            return _encode(
                [
                    (each.described_object, each.value, each.window_seconds)
                    for each in document.items
                ]
            )
        case ExternalMetricValueList():
            return _encode(
                [(each.metric_labels, each.value, each.window_seconds) for each in document.items]
            )
    raise TypeError(f"{type(document).__name__} cannot be watched")
