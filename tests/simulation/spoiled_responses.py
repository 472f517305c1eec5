"""What a fault makes of a response of the metrics APIs."""

import math
import random

import msgspec

from tests.simulation.network import Response

GARBAGE = (
    b"<html>upstream connect error</html>", b"", b"null", b"[]", b'{"items": {}}', b'{"items": "many"',
    b'{"kind":"ExternalMetricValueList","items":[{"metricName":"x","metricLabels":null,"timestamp":null,"value":"NaN"}]}',
    b'{"kind":"MetricValueList","items":[null]}',
)  # fmt: skip


def spoiled(how: str, response: Response, rng: random.Random) -> Response:
    """The response as it is, unless a fault spoils it in this way."""
    if how == "garbage":
        return Response(body=rng.choice(GARBAGE))
    if how in ("empty", "partial") and response.ok:
        return _without(response, share=0.0 if how == "empty" else 0.5)
    return response


def _without(response: Response, *, share: float) -> Response:
    """The same list with only this share of its items."""
    document = msgspec.json.decode(response.body)
    document["items"] = document["items"][: math.ceil(len(document["items"]) * share)]
    return Response(body=msgspec.json.encode(document))
