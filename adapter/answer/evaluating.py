"""A plan evaluated; a failure becomes the Status of the request."""

import asyncio

from adapter.model import Evaluation, MetricQuery, Plan
from adapter.ports import Evaluator, QueryFailed
from adapter.translate.ages import dated
from adapter.translate.refusals import metrics_not_fetched

QUERY_SHOWN_MAX = 400
"""A query over a thousand pods has tens of kilobytes, and a message ends up in an autoscaler's condition."""


async def evaluated(evaluator: Evaluator, plan: Plan, *, rule: str) -> Evaluation:
    """The evaluation; raises `StatusError` 500 that names the rule, the query and the cause."""
    try:
        return await evaluator.evaluate(plan)
    except QueryFailed as error:
        query = _shown(error.query)
        raise metrics_not_fetched(
            f"{rule}: Prometheus ({error.backend}) did not answer {query}: {error.cause}"
        ) from error


async def evaluated_with_ages(evaluator: Evaluator, query: MetricQuery) -> Evaluation:
    """The evaluation, with the true times of its samples where the contract needs them; raises as `evaluated`."""
    if query.ages is None:
        return await evaluated(evaluator, query.plan, rule=query.rule)
    evaluation, ages = await asyncio.gather(
        evaluated(evaluator, query.plan, rule=query.rule),
        evaluated(evaluator, query.ages.plan, rule=query.rule),
    )
    return dated(evaluation, ages, query.ages.labels)


def _shown(query: str) -> str:
    if len(query) <= QUERY_SHOWN_MAX:
        return repr(query)
    half = QUERY_SHOWN_MAX // 2
    return f"{query[:half]!r} ... {query[-half:]!r} ({len(query)} characters)"
