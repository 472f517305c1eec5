"""A model of Prometheus: it scrapes the workloads on a period, and evaluates the queries that the adapter's rules produce.

It knows series with labels, matchers and `sum by`; nothing of the adapter's code is used. A query returns the samples of the
last scrape, with the time of the evaluation, as an instant query does. A target whose scrape fails is stale from then on.
"""

import itertools
import random
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl

import msgspec

from adapter.promql.ages import OF
from tests.simulation.journal import Journal, Queried, Scraped
from tests.simulation.network import Connection, Request, Response
from tests.simulation.timeline import Timeline
from tests.simulation.workloads import Workload

PORT = 9090
QUEUE, REQUESTS = "queue_messages", "http_requests_per_second"
BACKEND_FAULTS = ("hang", "cut", "slow", "unavailable", "refused", "loses")

_SUM = re.compile(r"sum\s*by\s*\(([^)]*)\)\s*\((.*)\)|sum\s*\((.*)\)\s*by\s*\(([^)]*)\)")
_SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)?\s*(?:\{(.*)\})?")
_MATCHER = re.compile(r'\s*(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')

Labels = Mapping[str, str]
Sample = tuple[Labels, float]


class UnknownQuery(Exception):
    """The model does not know this shape of a query."""


class BackendFault(msgspec.Struct, kw_only=True):
    """What becomes of the queries for a while: one of `BACKEND_FAULTS`, for this share of them."""

    how: str
    share: float = 1.0
    seconds: float = 0.0


class PrometheusModel:
    """One server with its targets."""

    def __init__(
        self,
        timeline: Timeline,
        journal: Journal,
        rng: random.Random,
        workloads: Mapping[str, Workload],
        scrape_seconds: float,
    ) -> None:
        self._timeline = timeline
        self._journal = journal
        self._random = rng
        self._workloads = workloads
        self._scrape_seconds = scrape_seconds
        self._samples: list[Sample] = []
        self.faults: list[BackendFault] = []
        # A server that is killed closes its connections, a machine that is restarted resets them.
        self._cuts = itertools.cycle((Connection.cut, Connection.end))

    def start(self) -> None:
        """Scrape now, and on the period."""
        self._scrape()

    def _scrape(self) -> None:
        lost = next((each for each in self.faults if each.how == "loses"), None)
        self._samples = [
            sample
            for key, workload in self._workloads.items()
            if lost is None or self._random.random() >= lost.share
            for sample in self._of(key, workload)
        ]
        self._timeline.after(self._scrape_seconds, self._scrape)

    def _of(self, key: str, workload: Workload) -> Iterator[Sample]:
        load = workload.load.at(self._timeline.now)
        ready = [pod["metadata"]["name"] for pod in workload.ready_pods]
        target = {"namespace": workload.namespace, "app": workload.name}
        yield {"__name__": QUEUE, **target}, load
        for name in ready:
            yield {"__name__": REQUESTS, **target, "pod": name}, load / len(ready)
        scraped = Scraped(at=self._timeline.now, target=key, load=load, pods=tuple(ready))
        self._journal.scraped.append(scraped)

    def receive(self, request: Request, connection: Connection) -> None:
        """A request has left the adapter."""
        form = dict(parse_qsl(request.body.decode())) if request.method == "POST" else {}
        params = {**request.params, **form}
        how = next((each for each in self.faults if each.how != "loses"), None)
        if how is not None and self._random.random() >= how.share:
            how = None
        seconds = self._random.uniform(0.001, 0.02)
        is_answered = how is None or how.how == "slow"
        if how is not None and how.how == "slow":
            seconds += how.seconds * self._random.uniform(0.2, 1)
        self._note(request, params, how, seconds, is_answered=is_answered)
        if is_answered:
            self._timeline.after(seconds, connection.answer, self._answer(request, params))
        elif how is not None and how.how == "cut":
            self._timeline.after(seconds, next(self._cuts), connection)
        elif how is not None and how.how in FAILURES:
            self._timeline.after(seconds, connection.answer, FAILURES[how.how])

    def _note(
        self,
        request: Request,
        params: Mapping[str, str],
        how: BackendFault | None,
        seconds: float,
        *,
        is_answered: bool,
    ) -> None:
        text = params.get("query") or params.get("match[]", "")
        if "query" in params:
            self._journal.queries.append(
                Queried(
                    at=request.sent_at, process=request.process, text=text,
                    is_answered=is_answered, seconds=seconds, is_cut=how is not None and how.how == "cut",
                )
            )  # fmt: skip
        self._journal.say(
            self._timeline.now, f"{request.process} queries {text}{f': {how.how}' if how else ''}"
        )

    def _answer(self, request: Request, params: Mapping[str, str]) -> Response:
        now = self._timeline.epoch_unix_seconds + self._timeline.now
        match request.parts[-1]:
            case "query":
                rows = [
                    {"metric": labels, "value": [round(now, 3), repr(value)]}
                    for labels, value in self.evaluate(params["query"])
                ]
                return _success({"resultType": "vector", "result": rows})
            case "series":
                return _success([labels for labels, _ in self._selected(params["match[]"])])
        return Response(status=404, body=b"404 page not found")

    def evaluate(self, query: str) -> list[Sample]:
        """The rows of a query now. Raises `UnknownQuery`. Its samples have no times of their own, so it has had no scrapes."""
        if f'"{OF}"' in query:
            return []
        found = _SUM.fullmatch(query.strip())
        if found is None:
            return list(self._selected(query))
        by = [each.strip() for each in (found[1] or found[4]).split(",")]
        sums: dict[tuple[tuple[str, str], ...], float] = {}
        for labels, value in self._selected(found[2] or found[3]):
            key = tuple((name, labels[name]) for name in by if name in labels)
            sums[key] = sums.get(key, 0.0) + value
        return [(dict(key), value) for key, value in sums.items()]

    def _selected(self, selector: str) -> Iterator[Sample]:
        found = _SELECTOR.fullmatch(selector.strip())
        if found is None:
            raise UnknownQuery(selector)
        matchers = list(_matchers(found[2] or "", selector))
        if found[1]:
            matchers.append(("__name__", "=", found[1]))
        for labels, value in self._samples:
            if all(_matches(labels.get(name, ""), how, text) for name, how, text in matchers):
                yield labels, value


def _matchers(text: str, selector: str) -> Iterator[tuple[str, str, str]]:
    at = 0
    while at < len(text.rstrip()):
        found = _MATCHER.match(text, at)
        if found is None:
            raise UnknownQuery(selector)
        yield found[1], found[2], re.sub(r"\\(.)", r"\1", found[3])
        at = found.end()


def _matches(value: str, how: str, text: str) -> bool:
    if how in ("=", "!="):
        return (value == text) == (how == "=")
    return (re.fullmatch(text, value) is not None) == (how == "=~")


def _success(found: object) -> Response:
    return Response(body=msgspec.json.encode({"status": "success", "data": found}))


def _failure(status: int, kind: str, message: str) -> Response:
    body = {"status": "error", "errorType": kind, "error": message}
    return Response(status=status, body=msgspec.json.encode(body))


FAILURES = {
    "unavailable": _failure(503, "unavailable", "TSDB not ready"),
    "refused": _failure(422, "execution", "query processing would load too many samples into memory"),
}  # fmt: skip
