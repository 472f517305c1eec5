"""A plan evaluated, its failure told to whoever asked."""

import asyncio

from adapter.model import Evaluation, Plan, Question
from adapter.ports import Prometheus, QueryFailed
from adapter.translate.ages import dated
from adapter.translate.refusals import metrics_not_fetched

QUERY_SHOWN_MAX = 400
"""A query over a thousand pods has tens of kilobytes, and a message ends up in an autoscaler's condition."""


async def evaluated(prometheus: Prometheus, plan: Plan, *, rule: str) -> Evaluation:
    """The evaluation; raises `StatusError` 500 that names the rule at fault, the query and the cause."""
    try:
        return await prometheus.evaluate(plan)
    except QueryFailed as error:
        query = _shown(error.query)
        raise metrics_not_fetched(
            f"{rule}: Prometheus ({error.backend}) did not answer {query}: {error.cause}"
        ) from error


async def answered(prometheus: Prometheus, question: Question) -> Evaluation:
    """What Prometheus says to a question, the samples as old as they are where that matters; raises as `evaluated`."""
    if question.ages is None:
        return await evaluated(prometheus, question.plan, rule=question.rule)
    evaluation, ages = await asyncio.gather(
        evaluated(prometheus, question.plan, rule=question.rule),
        evaluated(prometheus, question.ages.plan, rule=question.rule),
    )
    return dated(evaluation, ages, question.ages.labels)


def _shown(query: str) -> str:
    if len(query) <= QUERY_SHOWN_MAX:
        return repr(query)
    half = QUERY_SHOWN_MAX // 2
    return f"{query[:half]!r} ... {query[-half:]!r} ({len(query)} characters)"
