"""What one configuration serves: which metrics, in which API groups."""

from collections.abc import Sequence

import msgspec

from adapter.model import Gap, ListedRule, MetricEntry, Offer, ResourceRules
from adapter.ports import Catalog


class EmptyCatalog:
    """The catalog while no configuration is active."""

    def custom_entries(self) -> Sequence[MetricEntry]:
        """None."""
        return ()

    def external_metrics(self) -> Sequence[str]:
        """None."""
        return ()

    def custom(self, entry: MetricEntry) -> Offer | None:  # noqa: ARG002 - the port's signature
        """None."""
        return None

    def external(self, metric: str) -> Offer | None:  # noqa: ARG002 - the port's signature
        """None."""
        return None

    def gaps(self) -> Sequence[Gap]:
        """None."""
        return ()

    def listed(self) -> Sequence[ListedRule]:
        """None."""
        return ()


class ActiveConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """What is served now; replaced as a whole when another configuration becomes active."""

    catalog: Catalog = EmptyCatalog()
    groups: tuple[str, ...] = ()
    """The API groups that are served: those for which there are rules."""
    resource_rules: ResourceRules | None = None
