"""Which metrics can be requested, and the series behind them."""

from collections.abc import Sequence

import msgspec

from adapter.model.configuration import Rule
from adapter.model.resources import GroupResource


class Series(msgspec.Struct, frozen=True, gc=False):
    """A metric name of Prometheus with the names of its labels, without their values."""

    name: str
    labels: frozenset[str] = frozenset()


class MetricEntry(msgspec.Struct, frozen=True, order=True, gc=False):
    """What discovery lists for custom metrics, and the key by which a request finds its rule."""

    resource: GroupResource
    namespaced: bool
    metric: str


class Offer(msgspec.Struct, frozen=True, gc=False):
    """A metric that can be requested: its rule and, for a discovered one, the name of its series in Prometheus."""

    rule: Rule
    series: str = ""


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A rule whose series have not been listed yet, so that its metrics are unknown and not merely absent."""

    rule: str  # the path of the rule
    cause: str
    temporary: bool  # it may resolve itself
    public_cause: str = ""  # for those who may not read the configuration, if that differs

    def public(self) -> "Gap":
        """The same without the words of Prometheus, which may quote the selector."""
        return msgspec.structs.replace(self, cause=self.public_cause or self.cause)


class ListedRule(msgspec.Struct, frozen=True):
    """A rule and the series that its selector selects now; None: not listed yet. A named rule has none."""

    rule: Rule
    series: Sequence[Series] | None = ()
