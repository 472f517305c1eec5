"""The invariants of what the adapter serves: true values, of objects that the client may read, fresh, and with few queries.

They judge the responses that reached the clients, the scrapes and the queries that reached Prometheus, and the rights that
kube-apiserver knew: nothing that the adapter says of itself but the timestamps of its values.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

import msgspec

from tests.hpa_model.amounts import milli
from tests.simulation.cluster import Document
from tests.simulation.invariants import Run, Violation
from tests.simulation.journal import Queried, Served
from tests.simulation.metrics_apis import EXTERNAL
from tests.simulation.rights import EVERYWHERE

# Streamed values are sent when all of a round are there, which may wait for another query, and rounds begin a second apart.
ROUND_SECONDS = 1.0
# Timestamps are in whole seconds.
ROUNDING_SECONDS = 1.0
# The documented bound of the age of a small result, from when its query was sent (docs/adapter.md, --metrics-freshness).
FRESHNESS_SECONDS = 1.0
# The clocks of the adapter and the way of a response.
SLACK_SECONDS = 0.1
# A query for when the samples of another one were scraped has this label. It is sent beside the requests, at most once a minute.
SCRAPES_LABEL = "loadline_of"
SCRAPES_SECONDS = 59.0
# For so long a decision of kube-apiserver is reused (--authorization-webhook-cache-authorized-ttl).
RIGHTS_SECONDS = 10.0
# How long the paths of a stream wait for the review of one of them.
REVIEW_SECONDS = 1.0
# The time limit of a query (--prometheus-timeout), after which another one may be sent.
QUERY_SECONDS = 30.0
# After so long, single requests no longer wait for a query of all objects.
SLOW_SECONDS = 0.1


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A value that a client was given."""

    served: Served
    namespace: str
    workload: str
    """Of an external metric; empty for that of a pod."""
    pod: str
    milli: int
    at: float
    """Its timestamp."""

    def __str__(self) -> str:
        name = self.pod or self.workload
        return f"{self.served.user} was given {self.milli}m of {self.namespace}/{name} as of {self.at:.0f} s"


def values_are_true(run: Run) -> Iterator[Violation]:
    """Each value is that of the requested object at its timestamp: as Prometheus had scraped it last before."""
    if run.scenario.adapter is None:
        return
    longest = run.scenario.adapter.scrape_seconds + ROUNDING_SECONDS
    moments = [each.at for each in run.journal.scraped]
    for value in _values(run):
        since = bisect_left(moments, value.at - longest)
        until = bisect_right(moments, value.at + ROUNDING_SECONDS)
        truths = {
            round(1000 * each.load / (len(each.pods) if value.pod else 1))
            for each in run.journal.scraped[since:until]
            if each.target.partition("/")[0] == value.namespace
            and (
                value.pod in each.pods if value.pod else each.target.endswith(f"/{value.workload}")
            )
        }
        if not any(abs(value.milli - each) <= 1 for each in truths):
            yield _violation(
                "values are true", value.served, f"{value}, which was {sorted(truths)}"
            )
        elif value.served.target.partition("/")[2] not in ("", value.workload) and not value.pod:
            yield _violation(
                "values are true", value.served, f"{value}, not of {value.served.target}"
            )


def values_are_fresh(run: Run) -> Iterator[Violation]:
    """No value is older than the bound for results, and the time that a query took."""
    for value in _values(run):
        age = value.served.at - value.at
        allowed = FRESHNESS_SECONDS + _query_seconds(run, value) + ROUNDING_SECONDS + SLACK_SECONDS
        if value.served.is_streamed:
            allowed += ROUND_SECONDS + _review_seconds(run, value)
        if age > allowed:
            yield _violation("values are fresh", value.served, f"{value}, {age:.1f} s later, at most {allowed:.1f} s are allowed")  # fmt: skip


def rights_are_respected(run: Run) -> Iterator[Violation]:
    """No client is given a value of a namespace whose metrics it may not read, or of another one than it has requested."""
    for served in run.journal.served:
        if served.document is not None and not _may_read(run, served):
            yield _violation("rights are respected", served, f"{served.user} was served metrics of {served.namespace}")  # fmt: skip
    for value in _values(run):
        if value.namespace != value.served.namespace:
            yield _violation("rights are respected", value.served, f"{value}, requested in {value.served.namespace}")  # fmt: skip


def queries_are_shared(run: Run) -> Iterator[Violation]:
    """The same query is not sent again while its result is fresh, and a period has no more queries than requests.

    When samples are scraped is queried once a minute at most.
    """
    answered: dict[tuple[str, str], Queried] = {}
    cut: dict[tuple[str, str], Queried] = {}
    for query in run.journal.queries:
        is_repeated = _repeats(query, cut)
        before = answered.get((query.process, query.text))
        reused_seconds = FRESHNESS_SECONDS - SLACK_SECONDS / 10
        if SCRAPES_LABEL in query.text:
            reused_seconds = SCRAPES_SECONDS
        if before is not None and query.at - before.at < reused_seconds and not is_repeated:
            what = f"{query.text} was sent {query.at - before.at:.2f} s after the same query"
            yield Violation(invariant="queries are shared", at=query.at, what=what)
        if query.is_answered or SCRAPES_LABEL in query.text:
            answered[query.process, query.text] = query
    if not run.scenario.is_streamed:
        yield from _many_queries(run)


def _many_queries(run: Run) -> Iterator[Violation]:
    """Of each period. A wide query that fails or is slow is followed by a query of each request, and one whose connection ends is sent once more.

    Requests that a scaler has given up are not served.
    """
    sent: dict[int, int] = defaultdict(int)
    failed = set[int]()
    cut: dict[tuple[str, str], Queried] = {}
    requests: dict[int, int] = defaultdict(int)
    period = run.scenario.period
    for query in run.journal.queries:
        if SCRAPES_LABEL in query.text:
            continue
        number = int(query.at // period)
        sent[number] += not _repeats(query, cut)
        if query.seconds > SLOW_SECONDS:
            failed |= {number, number + 1}
        if not query.is_answered:
            failed |= {number, number + 1, number + 2, number + int(QUERY_SECONDS // period) + 1}
    answered = {(each.group, each.target, each.sent_at) for each in run.journal.served}
    given_up = [
        each for each in run.journal.measurements
        if not each.is_streamed and (each.group, each.target, each.sent_at) not in answered
    ]  # fmt: skip
    spans = [(each.sent_at, each.at) for each in run.journal.served]
    spans += [(each.sent_at, each.at) for each in given_up]
    for sent_at, at in spans:
        for number in range(int(sent_at // period), int(at // period) + 1):
            requests[number] += 1
    for number, count in sorted(sent.items()):
        most = requests[number] * (2 if number in failed else 1)
        if count > most:
            what = f"{count} queries for {requests[number]} requests in a period"
            yield Violation(invariant="queries are shared", at=number * period, what=what)


def _repeats(query: Queried, cut: dict[tuple[str, str], Queried]) -> bool:
    """Whether it is the one repetition of the query before, whose connection ended; `cut` has those that may be repeated."""
    before = cut.pop((query.process, query.text), None)
    if before is not None and query.at <= before.at + before.seconds + SLACK_SECONDS:
        return True
    if query.is_cut:
        cut[query.process, query.text] = query
    return False


def _values(run: Run) -> Iterator[Value]:
    for served in run.journal.served:
        for item in (served.document or {"items": ()})["items"]:
            yield _value(run, served, item)


def _value(run: Run, served: Served, item: Document) -> Value:
    at = datetime.fromisoformat(item["timestamp"]).timestamp() - run.scenario.epoch_unix_seconds
    described = item.get("describedObject", {})
    labels = item.get("metricLabels", {})
    return Value(
        served=served,
        namespace=labels["namespace"] if served.group == EXTERNAL else described["namespace"],
        workload=labels.get("app", ""),
        pod=described.get("name", ""),
        milli=milli(item["value"]),
        at=at,
    )


def _query_seconds(run: Run, value: Value) -> float:
    """The longest time of a query that may have returned it."""
    queries = run.journal.queries
    since = bisect_left(queries, value.at - QUERY_SECONDS, key=lambda each: each.at)
    until = bisect_right(queries, value.served.at, key=lambda each: each.at)
    return max((each.seconds for each in queries[since:until]), default=0.0)


def _review_seconds(run: Run, value: Value) -> float:
    """What a stream waits for an API server that is slow, or hangs, and reviews that a client may still read what is sent to it.

    A value may be of the time of a review that began before the fault had ended.
    """
    is_slow = any(
        each.kind == "api"
        and each.how in ("slow", "hang")
        and each.at <= value.served.at
        and value.at <= each.at + each.seconds + REVIEW_SECONDS
        for each in run.faults
    )
    return REVIEW_SECONDS if is_slow else 0.0


def _may_read(run: Run, served: Served) -> bool:
    """Whether the user had the right at some moment since a decision that may have been reused."""
    changes = [each for each in run.journal.rights if each.user == served.user]
    since = served.sent_at - RIGHTS_SECONDS - SLACK_SECONDS
    before = [each for each in changes if each.at <= since][-1:]
    known = [*before, *(each for each in changes if since < each.at <= served.at)]
    return any(not each.namespaces.isdisjoint((served.namespace, EVERYWHERE)) for each in known)


def _violation(invariant: str, served: Served, what: str) -> Violation:
    return Violation(invariant=invariant, at=served.at, what=what)
