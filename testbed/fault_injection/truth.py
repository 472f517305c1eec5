"""What a client may see: every response is compared with the values that the model of Prometheus has or had just now."""

import time

import msgspec

from testbed.fault_injection import prometheus_model
from testbed.fault_injection.faulty_server import HANG_SECONDS
from testbed.fault_injection.kubernetes_model import ALLOWED_USER, DENIED_USER, KubernetesModel
from testbed.fault_injection.prometheus_model import STALE_SECONDS, PrometheusModel

NAMESPACES, PODS = 3, 4
# A review on a connection that hangs until it is closed is sent once more.
RESPONSE_SECONDS_MAX = 2 * HANG_SECONDS + 3.0
# A watch that failed is tried again after at most 30 s, doubled by jitter, as by client-go. Until then the adapter
# does not know of new pods.
WATCH_SECONDS = 75.0
OTHER_ROWS = ("scalar", "huge", "rows of unknown pods")
# Answers in which what was requested is really absent, so that 404 is correct.
ABSENT = ("nothing", "row missing", "null result")

Key = tuple[str, str]
"""Namespace and pod; an empty pod for the external metric of the namespace."""


class Ask(msgspec.Struct, frozen=True):
    """One request of a client."""

    path: str
    token: str
    namespace: str
    pod: str  # `*` for every pod, empty for an external metric


class Outcome(msgspec.Struct, frozen=True):
    """What came back, and how long it took."""

    ask: Ask
    status: int
    body: bytes
    seconds: float


class Violation(AssertionError):
    """An invariant does not hold."""


class Truth:
    """The values now and before, and the verdict on a response."""

    def __init__(self, prometheus: PrometheusModel, kubernetes: KubernetesModel) -> None:
        self.prometheus = prometheus
        self.kubernetes = kubernetes
        self._former: list[tuple[float, dict[Key, int]]] = []
        """Until when the values were those of Prometheus, oldest first. A short episode may end within the age of a slow query."""

    def change_values(self, seed: int) -> None:
        """Every series gets a new value; those before stay valid for a moment."""
        self._former = [*self._still_valid(), (time.monotonic(), self.values())]
        self.prometheus.series = prometheus_model.objects(seed, NAMESPACES, PODS)

    def _still_valid(self) -> list[tuple[float, dict[Key, int]]]:
        earliest = time.monotonic() - STALE_SECONDS - RESPONSE_SECONDS_MAX
        return [each for each in self._former if each[0] > earliest]

    def values(self) -> dict[Key, int]:
        """The value of each object now."""
        return {
            (each.labels["namespace"], each.labels.get("pod", "")): each.value
            for each in self.prometheus.series
        }

    def check(self, outcome: Outcome, *, is_disturbed: bool) -> None:
        """Raises `Violation` for a response that no client may ever get.

        `is_disturbed`: whether a fault may explain a missing response.
        """
        ask, status = outcome.ask, outcome.status
        if outcome.seconds > RESPONSE_SECONDS_MAX:
            raise Violation(f"{ask} took {outcome.seconds:.1f} s")
        allowed = {ALLOWED_USER: {200, 404}, DENIED_USER: {403}}.get(ask.token, {401})
        failures = {500, 503} if is_disturbed else set()
        if status not in allowed | failures:
            raise Violation(f"{status} for {ask}: {outcome.body[:300]!r}")
        if status == 404 and not self._is_absent(ask):
            raise Violation(f"404 for an object that has a value: {ask}: {outcome.body[:300]!r}")
        if status == 200:
            self._check_values(ask, msgspec.json.decode(outcome.body)["items"])

    def _is_absent(self, ask: Ask) -> bool:
        has_pods = self.kubernetes.has_pods(ask.namespace, for_seconds=WATCH_SECONDS)
        return self.prometheus.is_wrong(*ABSENT) or (ask.pod == "*" and not has_pods)

    def _check_values(self, ask: Ask, items: list[dict[str, object]]) -> None:
        valid = [self.values(), *(values for _, values in self._still_valid())]
        for item in items:
            described = item.get("describedObject")
            pod = described["name"] if isinstance(described, dict) else ""
            value = number(str(item["value"]))
            if pod == "" and value == 666 and self.prometheus.is_wrong(*OTHER_ROWS):
                continue  # An external metric has every row of the answer, and a scalar as it is.
            if value == 0 and self.prometheus.is_wrong("NaN row"):
                continue  # prometheus-adapter serves NaN of a custom metric as 0, and so does Loadline.
            if ask.pod not in ("*", pod) or value not in [
                v.get((ask.namespace, pod)) for v in valid
            ]:
                raise Violation(f"wrong value for {ask}: {item}")
        if ask.pod not in ("*", "") and len(items) != 1:
            raise Violation(f"{len(items)} items for {ask}")


def number(quantity: str) -> int:
    """The models' values are whole numbers, which a Quantity may write with a suffix."""
    suffixes = {"k": 10**3, "M": 10**6, "G": 10**9}
    factor = suffixes.get(quantity[-1])
    return int(quantity[:-1]) * factor if factor else int(quantity)
