"""How the Scales of all targets are read: from LISTs at first, then one by one, and kept while a watch shows no change."""

from collections.abc import Callable

from scaler.cluster.scales import Scales
from scaler.runtime.clients import Clients
from scaler.runtime.flags import Options
from scaler.runtime.initial_lists import InitialLists
from scaler.runtime.target_versions import TargetVersions
from wire.kube.mapper import RestMapper
from wire.process.background_tasks import BackgroundTasks


class TargetAccess:
    """The parts, wired together."""

    def __init__(
        self,
        options: Options,
        clients: Clients,
        mapper: RestMapper,
        background: BackgroundTasks,
        monotonic: Callable[[], float],
    ) -> None:
        versions = TargetVersions(
            clients.watches,
            options.namespaces,
            lambda work, name: background.start(work, name=name),
            monotonic=monotonic,
        )
        self.initial_lists = InitialLists(
            clients.watches,
            options.settings.kind,
            options.namespaces,
            mapper,
            versions,
            lambda work, name: background.start(work, name=name, may_end=True),
        )
        self.scales = Scales(clients.requests, mapper, versions.follow, self.initial_lists.scale)
