"""What a fault makes of a response of the metrics APIs."""

import math
import random
from collections.abc import Callable

import msgspec

from tests.simulation.cluster import Document
from tests.simulation.metrics_apis import value_milli
from tests.simulation.network import Response

GARBAGE = (
    b"<html>upstream connect error</html>", b"", b"null", b"[]", b'{"items": {}}', b'{"items": "many"',
    b'{"kind":"ExternalMetricValueList","items":[{"metricName":"x","metricLabels":null,"timestamp":null,"value":"NaN"}]}',
    b'{"kind":"MetricValueList","items":[null]}',
)  # fmt: skip

# Of the samples, in a list with gaps.
LOST_SHARE = 0.3


def _with_gaps(items: list[Document], rng: random.Random) -> list[Document]:
    return [each for each in items if rng.random() >= LOST_SHARE]


def _other_half(items: list[Document], _: random.Random) -> list[Document]:
    return items[len(items) // 2 :]


def _after_reset(items: list[Document], rng: random.Random) -> list[Document]:
    """Values as after a restart of what is measured: zero, or a tenth."""
    share = rng.choice((0, 0.1))
    return [_times(each, share) for each in items]


def _times(item: Document, share: float) -> Document:
    text = f"{round(value_milli(item) * share)}m"
    if "value" in item:
        return {**item, "value": text}
    return {**item, "containers": [{"name": "app", "usage": {"cpu": text, "memory": "64Mi"}}]}


CHANGES = {"gaps": _with_gaps, "other half": _other_half, "reset": _after_reset}
"""What becomes of the items of a list."""


def spoiled(how: str, response: Response, rng: random.Random) -> Response:
    """The response as it is, unless a fault spoils it in this way."""
    if how == "garbage":
        return Response(body=rng.choice(GARBAGE))
    if how in ("empty", "partial") and response.ok:
        return _without(response, share=0.0 if how == "empty" else 0.5)
    if how in CHANGES and response.ok:
        return _changed(response, lambda items: CHANGES[how](items, rng))
    return response


def _without(response: Response, *, share: float) -> Response:
    """The same list with only this share of its items."""
    return _changed(response, lambda items: items[: math.ceil(len(items) * share)])


def _changed(response: Response, change: Callable[[list[Document]], list[Document]]) -> Response:
    document = msgspec.json.decode(response.body)
    document["items"] = change(document["items"])
    return Response(body=msgspec.json.encode(document))
