"""What the clients of the three metrics APIs share: selectors in a path, and a failed read."""

from urllib.parse import urlencode

from wire.api.labels import Selector


class MetricUnavailable(Exception):
    """The metric cannot be read; the message is the last part of the HPA controller's error."""


def with_selectors(path: str, **selectors: Selector) -> str:
    """The path with the selectors as its query. As in client-go, an empty selector is not sent."""
    texts = {name: text for name, selector in selectors.items() if (text := str(selector))}
    return f"{path}?{urlencode(texts)}" if texts else path
