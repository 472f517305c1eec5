"""What one configuration came to: what can be asked for, and in which API groups."""

from collections.abc import Sequence

import msgspec

from adapter.model import Gap, Listed, MetricEntry, Offer, ResourceRules
from adapter.ports import Catalog


class NothingYet:
    """The catalog of no configuration."""

    def custom_entries(self) -> Sequence[MetricEntry]:
        """Nothing."""
        return ()

    def external_metrics(self) -> Sequence[str]:
        """Nothing."""
        return ()

    def custom(self, entry: MetricEntry) -> Offer | None:  # noqa: ARG002 - the port's signature
        """Nobody."""
        return None

    def external(self, metric: str) -> Offer | None:  # noqa: ARG002 - the port's signature
        """Nobody."""
        return None

    def gaps(self) -> Sequence[Gap]:
        """None."""
        return ()

    def listed(self) -> Sequence[Listed]:
        """No rules."""
        return ()


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """What one configuration came to; replaced as a whole when the file changes."""

    catalog: Catalog = NothingYet()
    groups: tuple[str, ...] = ()
    """The API groups that are served: those for which there are rules."""
    resource_rules: ResourceRules | None = None
