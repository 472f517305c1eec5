"""A model of Prometheus' HTTP API that knows which value every object has, and can answer wrongly on purpose.

It understands the few queries that the configuration of these tests sends. Every object has a value of
its own, so that a value that reaches a client can be traced to its object and its moment.
"""

import random
import re
import time
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs, urlsplit

import msgspec

from testbed.fault_injection.faulty_server import Request, Response

HUGE_ROWS = 30_000
# How long a value that has just changed may still be answered: the freshness bound and the way.
STALE_SECONDS = 1.0
_MATCHER = re.compile(r'(\w+)(=~|=)"([^"]*)"')
_GROUPING = re.compile(r"by \(([^)]*)\)")
_METRIC = re.compile(r"([a-z_]+)\{")

Row = dict[str, object]
Labels = tuple[tuple[str, str], ...]


class Series(msgspec.Struct, frozen=True):
    """One series and its value now."""

    metric: str
    labels: Mapping[str, str]
    value: int


# How an answer can be wrong although it is well-formed HTTP.
WRONG_ANSWERS = (
    "matrix",
    "scalar",
    "string",
    "error with status 200",
    "null result",
    "histogram row",
    "NaN row",
    "row missing",
    "duplicate rows",
    "rows of unknown pods",
    "unknown fields",
    "huge",
    "nothing",
)


class PrometheusModel:
    """`respond` answers for a `FaultyServer`; `answer_wrongly` makes its answers one of WRONG_ANSWERS, or right again."""

    def __init__(self) -> None:
        self.series: list[Series] = []
        self._wrong = ""
        # Each kind of wrong answer, and when the last answer of that kind was possible.
        self._ended_at: dict[str, float] = {}

    def answer_wrongly(self, wrong: str) -> None:
        """From now on; an empty text means right answers."""
        self._ended_at[self._wrong] = time.monotonic()
        self._wrong = wrong

    def is_wrong(self, *kinds: str) -> bool:
        """Whether an answer that a client sees now may be wrong in one of these ways."""
        earliest = time.monotonic() - STALE_SECONDS
        return self._wrong in kinds or any(self._ended_at.get(k, 0.0) > earliest for k in kinds)

    async def respond(self, request: Request) -> Response:
        """One request to the HTTP API."""
        parts = urlsplit(request.target)
        form = parse_qs(parts.query + "&" + request.body.decode())
        match parts.path:
            case "/api/v1/series":
                found = [
                    {"__name__": each.metric, **each.labels}
                    for each in self._matching(form["match[]"][0])
                ]
                return _success(found)
            case "/api/v1/query":
                return self._query(form["query"][0], float(form.get("time", ["1e9"])[0]))
            case _:
                return Response(status=404, body=b"404 page not found", content_type="text/plain")

    def _query(self, query: str, at: float) -> Response:
        found = _GROUPING.search(query)
        by = [name.strip() for name in found[1].split(",")] if found else []
        rows: dict[Labels, int] = {}
        for each in self._matching(query):
            labels = tuple((name, each.labels[name]) for name in by if name in each.labels)
            rows[labels] = rows.get(labels, 0) + each.value
        return self._wrongly(
            [{"metric": dict(labels), "value": [at, str(v)]} for labels, v in rows.items()], at
        )

    def _wrongly(self, rows: list[Row], at: float) -> Response:
        if self._wrong == "error with status 200":
            return Response(body=b'{"status":"error","errorType":"internal","error":"x"}')
        if another := _ANOTHER_TYPE.get(self._wrong):
            kind, result = another(at)
            return _success({"resultType": kind, "result": result})
        return _success({"resultType": "vector", "result": _changed(rows, self._wrong, at)})

    def _matching(self, text: str) -> list[Series]:
        """The series of the first selector in the text."""
        found = _METRIC.search(text)
        wanted = found[1] if found else ""
        matchers = _MATCHER.findall(text)
        return [
            each
            for each in self.series
            if each.metric == wanted
            and all(
                re.fullmatch(
                    pattern if operator == "=~" else re.escape(pattern), each.labels.get(name, "")
                )
                for name, operator, pattern in matchers
                if name != "__name__"
            )
        ]


# A result of another type than the requested vector.
_ANOTHER_TYPE: dict[str, Callable[[float], tuple[str, object]]] = {
    "matrix": lambda _: ("matrix", []),
    "scalar": lambda at: ("scalar", [at, "666"]),
    "string": lambda at: ("string", [at, "666"]),
    "null result": lambda _: ("vector", None),
}


def _changed(rows: list[Row], wrong: str, at: float) -> list[Row]:
    """The rows with something wrong about them."""
    first, rest = rows[:1], rows[1:]
    match wrong:
        case "histogram row":
            histogram = [at, {"count": "1", "sum": "1"}]
            return [*({"metric": row["metric"], "histogram": histogram} for row in first), *rest]
        case "NaN row":
            return [*({**row, "value": [at, "NaN"]} for row in first), *rest]
        case "row missing":
            return rest
        case "nothing":
            return []
        case "duplicate rows":
            return rows + rows
        case "rows of unknown pods":
            return [
                {"metric": {"namespace": "ns-0", "pod": "unknown"}, "value": [at, "666"]},
                *rows,
            ]
        case "unknown fields":
            return [{**row, "surprise": {"a": [1, None]}} for row in rows]
        case "huge":
            labels: Row = {"namespace": "unknown", "pod": "x" * 200}
            filler: list[Row] = [
                {"metric": {**labels, "n": str(n)}, "value": [at, "666"]} for n in range(HUGE_ROWS)
            ]
            return [*rows, *filler]
    return rows


def objects(seed: int, namespaces: int, pods: int) -> list[Series]:
    """Series of `requests` for each pod and of `queue` for each namespace; no value occurs twice."""
    chance = random.Random(seed)  # noqa: S311 - repeatable by seed
    values = iter(chance.sample(range(1_000, 9_000_000), namespaces * (pods + 1)))
    return [
        series
        for space in range(namespaces)
        for series in (
            *(
                Series("requests", {"namespace": f"ns-{space}", "pod": f"p-{pod}"}, next(values))
                for pod in range(pods)
            ),
            Series("queue", {"namespace": f"ns-{space}"}, next(values)),
        )
    ]


def _success(document: object) -> Response:
    return Response(body=msgspec.json.encode({"status": "success", "data": document}))
