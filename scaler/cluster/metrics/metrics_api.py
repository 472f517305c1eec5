"""What the clients of the three metrics APIs share: selectors as parameters, and a failed read."""

from wire.api.labels import Selector


class MetricUnavailable(Exception):
    """The metric cannot be read; the message is the last part of the HPA controller's error."""


def selector_params(**selectors: Selector) -> dict[str, str]:
    """Selectors as query parameters. As in client-go, an empty selector is not sent."""
    return {name: text for name, selector in selectors.items() if (text := str(selector))}
