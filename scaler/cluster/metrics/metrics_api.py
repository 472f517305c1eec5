"""What the clients of the three metrics APIs share: selectors in a path, and a failed read."""

from typing import Final
from urllib.parse import urlencode

from wire.api.labels import Selector


class MetricUnavailable(Exception):
    """The metric cannot be read; the message is the last part of the HPA controller's error."""


# 70,000 series. Those of pods are as many as the pods, and have only the limit of all responses.
SERIES_BYTES_MAX: Final = 2**23


def within_limit(body: bytes) -> bytes:
    """The response to an Object or External metric, which becomes one value. Raises `MetricUnavailable` if it is too large."""
    if len(body) > SERIES_BYTES_MAX:
        raise MetricUnavailable(
            f"the response has {len(body)} bytes, and those of more than {SERIES_BYTES_MAX} are not read: select fewer series"
        )
    return body


def with_selectors(path: str, **selectors: Selector) -> str:
    """The path with the selectors as its query. As in client-go, an empty selector is not sent."""
    texts = {name: text for name, selector in selectors.items() if (text := str(selector))}
    return f"{path}?{urlencode(texts)}" if texts else path
