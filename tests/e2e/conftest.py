"""Fixtures of the end-to-end tests: APIs registered with the aggregator for one test."""

from collections.abc import Iterator
from typing import Protocol

import pytest

from testbed import apiservices
from testbed.cluster import Cluster


class Register(Protocol):
    """The type of the fixture `aggregated`."""

    def __call__(
        self, group: str, version: str, port: int, *, ca_bundle: bytes | None = None
    ) -> str: ...


@pytest.fixture
def aggregated(cluster: Cluster) -> Iterator[Register]:
    """`aggregated("custom.metrics.k8s.io", "v1beta1", port)` registers an API until the end of the test and waits until it is Available."""
    registered: list[str] = []

    def add(group: str, version: str, port: int, *, ca_bundle: bytes | None = None) -> str:
        name = apiservices.register(cluster, group, version, port, ca_bundle=ca_bundle)
        registered.append(name)
        apiservices.wait_until_available(cluster, name)
        return name

    yield add
    for name in registered:
        apiservices.unregister(cluster, name)
