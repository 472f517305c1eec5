"""A real kube-apiserver of this folder's own, which tests may stop and start, and a client of it."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from testbed import waiting
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions
from wire.kube.client import KubeClient
from wire.kube.connection import connect


@pytest.fixture(scope="package")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """etcd and kube-apiserver, nothing else."""
    options = ClusterOptions(
        controllers=("serviceaccount-controller", "serviceaccount-token-controller"),
        scheduler=False,
        kwok=False,
        nodes=0,
    )
    with Cluster(options, directory=tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture
async def client(control_plane: Cluster) -> AsyncIterator[KubeClient]:
    """With the rights of an administrator."""
    connected = KubeClient(await connect(control_plane.kubeconfig, user_agent="test/1"))
    yield connected
    await connected.close()


async def until(
    condition: Callable[[], object], *, what: str, deadline_seconds: float = 30.0
) -> None:
    """Poll in a thread of its own, so that what is waited for can go on in the loop."""
    await asyncio.to_thread(waiting.until, condition, what=what, deadline_seconds=deadline_seconds)


@pytest.fixture
def folder(control_plane: Cluster) -> Iterator[str]:
    """A namespace that does not outlive the test."""
    name = f"wire-{uuid.uuid4().hex[:8]}"
    control_plane.create_namespace(name)
    yield name
    control_plane.send("DELETE", f"/api/v1/namespaces/{name}")
