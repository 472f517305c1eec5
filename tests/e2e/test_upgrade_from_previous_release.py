"""Both charts are upgraded from the previous release and rolled back, and their programs replaced one after the other.

Nothing is scaled because of it. Each program runs with the code of its own release.
"""

import contextlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from scaler.cluster.shards.assignment import SHARDS
from testbed import apiservices, previous_release
from testbed.assets import suffix_of
from testbed.audit_log import AuditLog
from testbed.chart_programs import start_chart_program
from testbed.cluster import Cluster
from testbed.cluster_options import WITHOUT_HPA_CONTROLLER, ClusterOptions
from testbed.exporter import Exporter
from testbed.helm import CHARTS, Helm
from testbed.programs import REPOSITORY, LoadlineProcess
from testbed.prometheus import PrometheusServer
from testbed.service import Service
from testbed.waiting import until
from tests.e2e.scaler_objects import HPA, LA
from tests.e2e.steady_requests import Requests
from tests.e2e.upgrade_cases import EARLY_SECONDS, LATE_SECONDS, METRICS, WINDOW_SECONDS, Fleet

# The newest version of Kubernetes that both releases support.
KUBERNETES = "1.36"
REPLICAS = 2
# After a rollback, programs that are not replaced yet have the permissions of the previous release: it neither publishes
# certificates nor has a second ServiceAccount.
EXPLAINED_BY_ROLLBACK = (
    "the serving certificate cannot be published in ConfigMap",
    "metrics are read through kube-apiserver, not from Service",
    "a direct request was forbidden: the metrics of the namespace are read through kube-apiserver",
    # The token of that ServiceAccount is not accepted any more, and a new one is requested.
    "The scaler needs permission to create its serviceaccounts/token",
)
Program = Literal["adapter", "scaler"]
RELEASES: dict[str, Program] = {"la": "scaler", "hpa": "scaler", "a": "adapter"}
SCALERS, ADAPTER = ("la", "hpa"), ("a",)
APIS = ("v1beta1.external.metrics.k8s.io", "v1beta2.custom.metrics.k8s.io")


class Version(msgspec.Struct, frozen=True):
    """The charts and the code of one release."""

    name: str
    charts: dict[str, Path]
    code: Path


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Version:
    code = previous_release.install_programs(tmp_path_factory.mktemp("previous") / "code")
    charts = {name: previous_release.chart(name) for name in ("adapter", "scaler")}
    return Version(previous_release.VERSION, charts, code)


@pytest.fixture(scope="module")
def current() -> Version:
    return Version("current", {name: CHARTS / name for name in ("adapter", "scaler")}, REPOSITORY)


@pytest.fixture(scope="module")
def cluster(audit_log: AuditLog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A complete cluster without the HPA controller and without CRDs, with an audit log."""
    options = ClusterOptions(
        kubernetes_suffix=suffix_of(KUBERNETES),
        controllers=WITHOUT_HPA_CONTROLLER,
        apiserver_flags=audit_log.flags,
    )
    with Cluster(options, directory=tmp_path_factory.mktemp("upgraded")) as running:
        yield running


class Site:
    """A namespace with three releases: scalers that share the LoadAutoscalers, scalers of HPAs with a leader, and adapters."""

    def __init__(
        self, cluster: Cluster, prometheus: PrometheusServer, service: Service, directory: Path
    ) -> None:
        self.cluster, self._service, self._directory = cluster, service, directory
        self.namespace = f"loadline-{uuid.uuid4().hex[:8]}"
        cluster.create_namespace(self.namespace)
        self._helm = Helm(cluster, self.namespace)
        self._running: dict[str, list[LoadlineProcess]] = {release: [] for release in RELEASES}
        self.started: list[LoadlineProcess] = []
        direct = {"service": f"{self.namespace}/a-loadline-adapter", "stream": True}
        # One more replica of fourteen is more than this tolerance.
        scaler = {"replicas": REPLICAS, "syncPeriod": "8s", "tolerance": 0.05}
        self._values = {
            "a": {
                "replicas": REPLICAS,
                "service": {
                    "type": "ExternalName",
                    "externalName": "localhost",
                    "port": service.port,
                },
                "prometheus": {"url": "http://127.0.0.1", "port": prometheus.port},
                "rules": {"default": False, "metrics": METRICS},
            },
            "la": {
                **scaler,
                "sharding": {"enabled": True},
                "adapter": direct,
                # Cluster DNS does not run here.
                "extraArguments": [f"--adapter-url=https://127.0.0.1:{service.port}"],
            },
            "hpa": {**scaler, "watch": "horizontalpodautoscalers"},
        }

    def install(self, release: str, version: Version) -> None:
        chart = version.charts[RELEASES[release]]
        self._helm.install(chart, release=release, values=self._values[release])

    def upgrade(self, release: str, version: Version) -> None:
        chart = version.charts[RELEASES[release]]
        self._helm.upgrade(chart, release=release, values=self._values[release])

    def roll_back(self, release: str) -> None:
        self._helm.rollback(release, revision=0)  # the one before the current one

    def start(self, release: str, version: Version) -> None:
        """Start one more replica; it is ready afterwards."""
        number = len(self.started)
        started = start_chart_program(
            self.cluster,
            RELEASES[release],
            namespace=self.namespace,
            release=release,
            directory=self._directory / f"{number}-{release}-{version.name}",
            repository=version.code,
        )
        self.started.append(started)
        self._running[release].append(started)
        if RELEASES[release] == "adapter":
            self._service.add(started.port)

    def stop_oldest(self, release: str) -> None:
        """End the replica that runs for longest, as a pod ends: first, nothing is sent to it any more."""
        oldest = self._running[release].pop(0)
        if RELEASES[release] == "adapter":
            self._service.remove(oldest.port)
        assert oldest.stop() == 0, oldest.process.log_tail()

    def replace_one(self, release: str, version: Version) -> None:
        """As a Deployment does with maxSurge 1 and maxUnavailable 0."""
        self.start(release, version)
        self.stop_oldest(release)

    def are_sharing(self) -> None:
        """Wait until each of both replicas owns some of the LoadAutoscalers."""

        def owners() -> bool:
            path = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"
            shards = [
                each["spec"]["holderIdentity"]
                for each in self.cluster.get(path)["items"]
                if "la-loadline-scaler-shard-" in each["metadata"]["name"]
            ]
            assert len(shards) == SHARDS
            return "" not in shards and len(set(shards)) == REPLICAS

        until(owners, what="two owners of all shards", deadline_seconds=60)

    def problems(self, *, except_for: Sequence[str] = ()) -> list[str]:
        """What the programs have logged about missing permissions and errors."""
        lines = [line for each in self.started for line in each.process.log().splitlines()]
        return [
            line
            for line in lines
            if any(word in line for word in ("forbidden", "level=error", "Traceback"))
            and not any(each in line for each in except_for)
        ]

    def close(self) -> None:
        for release in RELEASES:
            while self._running[release]:
                self._running[release].pop().stop()


@pytest.fixture
def site(cluster: Cluster, prometheus: PrometheusServer, tmp_path: Path) -> Iterator[Site]:
    with Service() as service:
        made = Site(cluster, prometheus, service, tmp_path)
        yield made
        made.close()


@pytest.fixture
def fleets(cluster: Cluster, exporter: Exporter, audit_log: AuditLog) -> list[Fleet]:
    """LoadAutoscalers in three namespaces, which the replicas share, and HPAs in one."""
    made = []
    for kind in (LA, LA, LA, HPA):
        namespace = f"upgrade-{uuid.uuid4().hex[:8]}"
        cluster.create_namespace(namespace)
        made.append(Fleet(cluster, exporter, audit_log, namespace, kind))
    return made


def test_an_upgrade_and_a_rollback_under_load_scale_nothing(site, fleets, previous, current):
    begin(site, fleets, previous)
    with contextlib.ExitStack() as stack:
        requests = [stack.enter_context(each) for each in steady_requests(site.cluster, fleets[0])]
        fields = spec_fields(site.cluster)
        for releases in (SCALERS, ADAPTER):
            replaced(site, fleets, releases, current, partial(site.upgrade, version=current))
        assert "podSelection" in spec_fields(site.cluster) - fields
        assert site.problems() == []
        for releases in (SCALERS, ADAPTER):
            replaced(site, fleets, releases, previous, site.roll_back)
        assert spec_fields(site.cluster) == fields
    for each in requests:
        assert each.failures == []
    for each in fleets:
        each.end_window()
        check(each)
        each.wake()
        until(partial(has_written_what_was_expected, each), what="the expected scales")
    assert site.problems(except_for=EXPLAINED_BY_ROLLBACK) == []


def spec_fields(cluster: Cluster) -> set[str]:
    """The fields of LoadAutoscalers that the API server knows."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/loadautoscalers.loadline.io"
    (version,) = cluster.get(path)["spec"]["versions"]
    return set(version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])


def begin(site: Site, fleets: list[Fleet], version: Version) -> None:
    """Install this version, and wait until all autoscalers have something to remember."""
    for release in RELEASES:
        site.install(release, version)
    for each in fleets:
        each.create()
    for release in reversed(RELEASES):
        for _ in range(REPLICAS):
            site.start(release, version)
    for api in APIS:
        apiservices.wait_until_available(site.cluster, api)
    # The first revision of the adapter was rendered before there was a certificate: a rollback to it removes caBundle for seconds.
    site.upgrade("a", version)
    site.are_sharing()
    for each in fleets:
        each.settle()


def check(fleet: Fleet) -> None:
    """Nothing was scaled that the load does not ask for, no condition has changed, and nothing has failed."""

    until(partial(has_written_what_was_expected, fleet), what="the expected scales")
    for name, shown in fleet.shown().items():
        assert shown == fleet.settled[name], name


def has_written_what_was_expected(fleet: Fleet) -> bool:
    """Raises AssertionError, also for a moment after the last scale: it can be read before it is in the audit log."""
    lasted_seconds = fleet.expect_end_of_window() or WINDOW_SECONDS
    assert -EARLY_SECONDS <= lasted_seconds - WINDOW_SECONDS <= LATE_SECONDS
    assert fleet.written() == fleet.expected
    return True


def replaced(
    site: Site,
    fleets: list[Fleet],
    releases: Sequence[str],
    version: Version,
    change: Callable[[str], None],
) -> None:
    """Change releases with Helm, and replace their programs one after the other, with a growing load all the time."""

    def go_on() -> None:
        for each in fleets:
            each.grow()
        for each in fleets:
            each.has_grown()
            check(each)

    for release in releases:
        change(release)
    go_on()
    for _ in range(REPLICAS):
        for release in releases:
            site.replace_one(release, version)
        site.are_sharing()
        go_on()


def steady_requests(cluster: Cluster, fleet: Fleet) -> list[Requests]:
    """Requests to both metrics APIs, through kube-apiserver."""
    selector = f"labelSelector=namespace%3D{fleet.namespace},deployment%3Dwindow"
    paths = (
        f"external.metrics.k8s.io/v1beta1/namespaces/{fleet.namespace}/load?{selector}",
        f"custom.metrics.k8s.io/v1beta2/namespaces/{fleet.namespace}/deployments.apps/window/load",
    )
    return [Requests(cluster, f"/apis/{path}", every_seconds=0.4) for path in paths]
