"""Learns when Prometheus scrapes what a query reads, so that its result is evaluated again just after that, and seldom before.

The samples of one target are all of the same times. Between two scrapes nothing new can be evaluated, and an evaluation that is reused across a scrape
is older than it need be: by half a second on average if it is reused for a second. Many targets are scraped at different times, so
nothing is learned where a query reads several.

It costs a query of three rows for each wide query in continuous use: the second one a minute after the first, then one every five minutes.
It saves more than half of the evaluations where the interval is 15 s. It is wrong for up to five minutes after the scrapes have
moved, which happens if a target gets another address: then a result is at most `Freshness.longest_seconds` old, as a large one always may be.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

from adapter.model import Evaluation, Lane, Plan, ResultKind, Sending
from adapter.model.scrapes import Scrapes
from adapter.ports import Evaluator, QueryFailed
from adapter.promql.ages import COUNT, COUNTED_SECONDS, NEWEST, OF, OLDEST, scrapes_query
from wire.process.single_flight import SingleFlight
from wire.process.text_bytes import text_bytes

CONTINUOUS_SECONDS: Final = 5.0
"""A query whose evaluations follow each other within this time is in continuous use."""
CONFIRMED_SECONDS: Final = 60.0
RENEWED_SECONDS: Final = 300.0
NOT_LEARNED_SECONDS: Final = 600.0
"""When it is tried again where scrapes were not regular, or the query failed."""
TAKEN_SECONDS_MAX: Final = 0.25
"""After a longer time it is not known when a result was evaluated."""
PLANS_MAX: Final = 256
QUERY_BYTES_MAX: Final = 24 << 10
"""Of a query whose scrapes are learned, so that all of them take 6 MiB at most. One with a large label selector may be longer."""
SAMPLES_MAX: Final = 100_000
"""Of an evaluation. Scrapes are not learned from queries that read more, since counting samples reads those of two minutes."""

_FOR_LEARNING: Final = Sending(lane=Lane.COMMAND, may_post=True, seconds_max=5.0)


class _Known:
    """What is known of one plan."""

    __slots__ = ("evaluated_seconds", "learned_again_seconds", "observed", "scrapes")

    def __init__(self) -> None:
        self.evaluated_seconds = float("-inf")
        self.learned_again_seconds = float("-inf")
        self.observed: Scrapes | None = None
        self.scrapes: Scrapes | None = None
        """The same, after a second observation has confirmed it."""


class KnownScrapes:
    """The scrapes behind wide queries, by the monotonic clock."""

    def __init__(
        self, evaluator: Evaluator, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._evaluator = evaluator
        self._monotonic = monotonic
        self._known: OrderedDict[Plan, _Known] = OrderedDict()
        """The most recently evaluated last."""
        self._learning: SingleFlight[Plan, None] = SingleFlight()

    def of(self, plan: Plan) -> Scrapes | None:
        """The scrapes behind a plan; None if they are not known, or not regular."""
        known = self._known.get(plan)
        return known.scrapes if known is not None else None

    def next_visible(self, after_seconds: float) -> float:
        """When the next samples are stored for one of the plans in use; infinite if that is not known."""
        return min(self._next(after_seconds), default=float("inf"))

    def _next(self, after_seconds: float) -> Iterator[float]:
        for known in self._known.values():
            is_used = after_seconds - known.evaluated_seconds <= CONTINUOUS_SECONDS
            if known.scrapes is not None and is_used:
                yield known.scrapes.next_visible(after_seconds)

    def evaluated(self, plan: Plan, evaluation: Evaluation, sent_seconds: float) -> None:
        """A plan was evaluated. Begins to learn, beside that, if it is in continuous use."""
        if not plan.key_labels:
            return  # The own query of a request.
        if text_bytes(plan.query) > QUERY_BYTES_MAX:
            return
        if max(len(evaluation.samples), evaluation.cost.samples or 0) > SAMPLES_MAX:
            return
        known = self._known[plan] = self._known.pop(plan, _Known())
        if len(self._known) > PLANS_MAX:
            self._known.popitem(last=False)
        is_continuous = sent_seconds - known.evaluated_seconds <= CONTINUOUS_SECONDS
        known.evaluated_seconds = sent_seconds
        if is_continuous and sent_seconds >= known.learned_again_seconds:
            self._learning.start(plan, lambda: self._learn(plan, known))

    async def _learn(self, plan: Plan, known: _Known) -> None:
        known.learned_again_seconds = self._monotonic() + NOT_LEARNED_SECONDS
        query = scrapes_query(plan.query)
        if not query:
            return
        earlier, known.observed = known.observed, await self._observed(Plan(query, plan.backend))
        known.scrapes = None
        if known.observed is None:
            return
        if earlier is not None:
            known.scrapes = known.observed.confirms(earlier)
        if known.scrapes is not None:
            known.observed = known.scrapes
        seconds = CONFIRMED_SECONDS if known.scrapes is None else RENEWED_SECONDS
        known.learned_again_seconds = self._monotonic() + seconds

    async def _observed(self, plan: Plan) -> Scrapes | None:
        sent_seconds = self._monotonic()
        try:
            evaluation = await self._evaluator.evaluate(plan, _FOR_LEARNING)
        except QueryFailed:
            return None  # It is counted as a failed query; results are reused as without it.
        received_seconds = self._monotonic()
        if evaluation.kind is not ResultKind.VECTOR or evaluation.partial:
            return None
        if received_seconds - sent_seconds > TAKEN_SECONDS_MAX:
            return None
        return _scrapes(evaluation, received_seconds)


def _scrapes(evaluation: Evaluation, received_seconds: float) -> Scrapes | None:
    rows = {each.labels.get(OF): each for each in evaluation.samples}
    if not {NEWEST, OLDEST, COUNT} <= rows.keys():
        return None
    newest = rows[NEWEST]
    # By the clock of Prometheus, which need not be right.
    ahead_seconds = newest.timestamp_seconds - received_seconds
    return Scrapes.observed(
        newest_seconds=newest.value - ahead_seconds,
        oldest_seconds=rows[OLDEST].value - ahead_seconds,
        count=rows[COUNT].value,
        counted_seconds=COUNTED_SECONDS,
        evaluated_seconds=received_seconds,
    )
