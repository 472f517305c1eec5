"""What is kept from one request to the next, within bounds."""

from typing import Generic, TypeVar

from adapter.model import CustomMetricRequest, ExternalMetricRequest, Offer, Question

REMEMBERED_MAX = 10_000
"""More than there are autoscalers with questions of their own."""

Value = TypeVar("Value")


class Questions:
    """Questions made before: an autoscaler asks the same every 15 s, and rendering a template is most of an answer.

    An offer is made anew whenever series, rules or the cluster's resources change, so a question holds while its offer
    and the names of its objects do. One is held for each request, so that pods which come and go leave nothing behind.
    """

    def __init__(self) -> None:
        self._made: dict[
            CustomMetricRequest | ExternalMetricRequest, tuple[Offer, tuple[str, ...], Question]
        ] = {}

    def get(
        self,
        request: CustomMetricRequest | ExternalMetricRequest,
        offer: Offer,
        names: tuple[str, ...] = (),
    ) -> Question | None:
        """The question made for this request, if it is still the right one."""
        held = self._made.get(request)
        return held[2] if held and held[0] is offer and held[1] == names else None

    def keep(
        self,
        request: CustomMetricRequest | ExternalMetricRequest,
        offer: Offer,
        names: tuple[str, ...],
        question: Question,
    ) -> None:
        """Hold the question for the next time."""
        if len(self._made) >= REMEMBERED_MAX:
            self._made.clear()
        self._made[request] = (offer, names, question)


class Remembered(Generic[Value]):
    """The last good values of metrics whose contract may fall back on them; the oldest go first."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}

    def get(self, key: str, default: Value) -> Value:
        """What was kept, or `default`."""
        return self._values.get(key, default)

    def keep(self, key: str, value: Value) -> None:
        """Keep it in place of what was kept before."""
        self._values.pop(key, None)
        self._values[key] = value
        if len(self._values) > REMEMBERED_MAX:
            del self._values[next(iter(self._values))]
