"""What one configuration serves: which metrics, in which API groups."""

import msgspec

from adapter.model import ResourceRules
from adapter.ports import Catalog


class ActiveConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """What is served now; replaced as a whole when another configuration becomes active."""

    catalog: Catalog
    groups: tuple[str, ...] = ()
    """The API groups that are served: those for which there are rules."""
    resource_rules: ResourceRules | None = None
