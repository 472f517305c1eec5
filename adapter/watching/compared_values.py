"""What of a response counts as a change of it."""

from adapter.answer.answering import AnswerDocument
from wire.api.custom_metrics import MetricValueList, MetricValueListV1beta1
from wire.api.external_metrics import ExternalMetricValueList


def compared_values(document: AnswerDocument) -> object:
    """Everything in it that can change, except for the timestamps, which move with each evaluation.

    A contract on the age of samples has been applied before: a value that is too old is another value, or a failure.
    """
    match document:
        case MetricValueList() | MetricValueListV1beta1():
            return [
                (each.described_object, each.value, each.window_seconds) for each in document.items
            ]
        case ExternalMetricValueList():
            return [
                (each.metric_labels, each.value, each.window_seconds) for each in document.items
            ]
    raise TypeError(f"{type(document).__name__} cannot be watched")
