"""What the three metrics APIs have in common: selectors as parameters, and a failure."""

from wire.labels import Selector


class NoAnswer(Exception):
    """The metric cannot be had; the message is the tail of the HPA controller's."""


def selector_params(**selectors: Selector) -> dict[str, str]:
    """Selectors as parameters of a request; an empty text is not sent, as client-go does not send it."""
    return {name: text for name, selector in selectors.items() if (text := str(selector))}
