"""Which modules run in one process, because they share a cluster that is started once."""

from xdist.scheduler import LoadFileScheduling

SHARING_DIRECTORIES = ("tests/e2e/without_hpa_controller", "tests/process/wire")
"""The `conftest.py` of each has a cluster for its modules."""


class SharedClusters(LoadFileScheduling):
    """As `--dist loadfile`, which keeps each module in one process, and the modules of these directories together."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(super()._split_scope(nodeid))


def scope_of(module: str) -> str:
    """What runs in one process: the directory of the module if its modules share a cluster, or else the module."""
    directory = module.rpartition("/")[0]
    return directory if directory in SHARING_DIRECTORIES else module
