"""A plan evaluated; a failure becomes the Status of the request."""

from collections.abc import Sequence

from adapter.answer.observer import AnswerObserver
from adapter.documents.refusals import metrics_not_fetched
from adapter.model import FOR_AUTOSCALER, Evaluation, Lane, MetricQuery, Plan, Sending
from adapter.ports import Evaluator, QueryFailed
from adapter.promql.ages import dated
from adapter.promql.row_selection import selected
from adapter.wide.concurrently import together

QUERY_SHOWN_MAX = 400
"""A query over a thousand pods has tens of kilobytes, and a message ends up in an autoscaler's condition."""


async def evaluated(
    evaluator: Evaluator, plan: Plan, sending: Sending = FOR_AUTOSCALER, *, rule: str
) -> Evaluation:
    """The evaluation; raises `StatusError` 500 that names the rule, the query and the cause."""
    try:
        return await evaluator.evaluate(plan, sending)
    except QueryFailed as error:
        query = _shown(error.query)
        raise metrics_not_fetched(
            f"{rule}: Prometheus ({error.backend}) did not answer {query}: {error.cause}"
        ) from error


async def own_rows(
    evaluator: Evaluator, query: MetricQuery, names: Sequence[str], observer: AnswerObserver
) -> Evaluation:
    """The rows of the request by its own query, with the true times of its samples where the contract needs them.

    Raises as `evaluated`.
    """
    plans = [query.plan, query.ages.plan] if query.ages else [query.plan]
    lane = Lane.COMMAND if observer.explains else Lane.AUTOSCALER
    sending = Sending(lane=lane, counts_samples=query.wide is not None)
    evaluation, *ages = await together(
        [evaluated(evaluator, plan, sending, rule=query.rule) for plan in plans]
    )
    found = selected(evaluation, query.plan, query.rows, names)
    if query.ages:
        found = dated(found, ages[0], query.ages.labels)
    if observer.explains:
        if query.ages:
            evaluation = dated(evaluation, ages[0], query.ages.labels)
        observer.evaluated(query.plan, query.rows, evaluation)
    return found


def _shown(query: str) -> str:
    if len(query) <= QUERY_SHOWN_MAX:
        return repr(query)
    half = QUERY_SHOWN_MAX // 2
    return f"{query[:half]!r} ... {query[-half:]!r} ({len(query)} characters)"
