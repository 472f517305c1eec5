"""A plan evaluated; a failure becomes the Status of the request."""

from collections.abc import Sequence

import msgspec

from adapter.answer.observer import AnswerObserver
from adapter.documents.refusals import about_query, metrics_not_fetched, shown
from adapter.model import FOR_AUTOSCALER, Ages, Evaluation, Lane, MetricQuery, Plan, Sending
from adapter.ports import Evaluator, QueryFailed
from adapter.promql.ages import dated
from adapter.promql.row_selection import selected
from adapter.wide.concurrently import together


async def evaluated(
    evaluator: Evaluator, plan: Plan, sending: Sending = FOR_AUTOSCALER, *, rule: str
) -> Evaluation:
    """The evaluation; raises `StatusError` 500 that names the rule, the cause and, in full, the query."""
    try:
        return await evaluator.evaluate(plan, sending)
    except QueryFailed as error:
        server = f"{rule}: Prometheus ({error.backend}) did not answer "
        refused = about_query(metrics_not_fetched, server, error.query, f": {error.public_cause}")
        refused.in_full = metrics_not_fetched(f"{server}{shown(error.query)}: {error.cause}")
        raise refused from error


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
        found = _dated(found, ages[0], query.ages)
    if observer.explains:
        if query.ages:
            evaluation = _dated(evaluation, ages[0], query.ages)
        observer.evaluated(query.plan, query.rows, evaluation)
    return found


def _dated(evaluation: Evaluation, taken: Evaluation, ages: Ages) -> Evaluation:
    """With the times of its samples. It is partial if they are: the ages of some rows are not known then."""
    found = dated(evaluation, taken, ages.labels)
    return msgspec.structs.replace(found, partial=found.partial or taken.partial)
