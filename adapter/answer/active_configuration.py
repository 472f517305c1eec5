"""What one configuration serves: which metrics, in which API groups."""

import msgspec

from adapter.model import ResourceRules
from adapter.ports import Catalog
from adapter.wide.plans import WidePlans


class ActiveConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """What is served now; replaced as a whole when another configuration becomes active.

    A request is answered by the one that is active when it begins. Results and last good values are kept beside it, by the identity
    of their backend and query, so that they survive a reload that does not concern them.
    """

    catalog: Catalog
    groups: tuple[str, ...] = ()
    """The API groups that are served: those for which there are rules."""
    resource_rules: ResourceRules | None = None
    wide_plans: WidePlans | None = None
    """The queries that answer many requests, with their suspensions, which another configuration may have lifted. None: there are none."""
