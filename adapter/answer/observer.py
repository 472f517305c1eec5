"""The steps on the way to an answer, for an observer: `explain` records them, a served request does not.

There is one implementation of answering; it calls the observer after each step.
"""

from collections.abc import Sequence

from adapter.documents.signal_contract import Judgement
from adapter.model import (
    Evaluation,
    ExternalValue,
    KubeObject,
    MetricQuery,
    ObjectValue,
    Offer,
    Plan,
    Rows,
    UsageQuery,
    UsageValue,
)


class AnswerObserver:
    """Ignores every step; override the ones of interest. A method is called when its step has succeeded."""

    explains = True
    """Whether the request is not a demand for wide queries, and its queries go last."""

    def rule_chosen(self, offer: Offer) -> None:
        """A rule serves the metric."""

    def objects_matched(self, names: Sequence[str]) -> None:
        """The requested objects; empty when the selector matched none."""

    def query_built(self, query: MetricQuery | UsageQuery) -> None:
        """What is about to be sent to Prometheus."""

    def evaluated(self, plan: Plan, rows: Rows, evaluation: Evaluation) -> None:
        """What Prometheus returned for a plan, or a wide query in its place, and which rows of it belong to the request."""

    def result_received(self) -> None:
        """Prometheus has returned a result. What is in it may still not be usable."""

    def answered_together(self) -> None:
        """The request has a share of the result of a wide query, and does not send its own query."""

    def needs_own_query(self) -> None:
        """No wide query answers the request: its own query is about to be sent, which may fail."""

    def judged(self, judgements: Sequence[Judgement]) -> None:
        """What becomes of the values with which something is wrong, if there are any; the request may fail because of them."""

    def usage_left_out(self, subject: KubeObject, why: str) -> None:
        """A pod or node has no usage that can be served; `why` is a sentence."""

    def answered(self, values: Sequence[ObjectValue | ExternalValue | UsageValue]) -> None:
        """The values of the answer."""


class Unobserved(AnswerObserver):
    """Of a request that is served."""

    explains = False


UNOBSERVED = Unobserved()
