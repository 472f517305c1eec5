"""The certificate that the adapter manages: installed with Helm, two replicas on one port, requests through kube-apiserver."""

import base64
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import apiservices, ports
from testbed.chart_programs import start_chart_program
from testbed.cluster import Cluster
from testbed.helm import Helm
from testbed.programs import LoadlineProcess
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.cluster_shell import cluster_shell
from tests.e2e.steady_requests import Requests

API = "v1beta1.external.metrics.k8s.io"
REPLICAS = 2
# Twice the time that a new certificate waits before it is served, and the delay of a loaded machine.
ROTATION_DEADLINE_SECONDS = 60.0


class Site:
    """A release of the chart with two replicas, which share a port as a Service shares its requests among pods."""

    def __init__(
        self, cluster: Cluster, prometheus: PrometheusServer, namespace: str, directory: Path
    ) -> None:
        self.cluster, self.namespace = cluster, namespace
        self.helm = Helm(cluster, namespace)
        self.port = ports.reserve()
        self._directory = directory
        self._running: list[LoadlineProcess] = []
        self.values = {
            "service": {"type": "ExternalName", "externalName": "localhost", "port": self.port},
            "prometheus": {"url": "http://127.0.0.1", "port": prometheus.port},
            "rules": {"default": False, "metrics": [{"name": "up", "query": "count(up)"}]},
            "extraArguments": ["--permit-port-sharing"],
        }

    @property
    def path(self) -> str:
        return f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{self.namespace}/up"

    def start_replicas(self) -> None:
        place = {"namespace": self.namespace, "release": "a", "port": self.port}
        for number in range(REPLICAS):
            directory = self._directory / str(number)
            self._running.append(
                start_chart_program(self.cluster, "adapter", directory=directory, **place)
            )

    def stop_replicas(self) -> None:
        while self._running:
            self._running.pop().stop()

    def spec(self) -> dict:
        return self.cluster.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{API}")["spec"]

    def bundle(self) -> str:
        return base64.b64decode(self.spec().get("caBundle") or "").decode()

    def shown(self) -> set[str]:
        """The certificates of both replicas: enough connections to reach each of them."""
        return {ssl.get_server_certificate(("127.0.0.1", self.port)) for _ in range(20)}

    def is_served(self) -> bool:
        """Whether a request through kube-apiserver succeeds."""
        with Requests(self.cluster, self.path) as requests:
            until(lambda: requests.succeeded + len(requests.failures), what="a response")
        assert not requests.failures, requests.failures
        return True

    def renew(self, command: str) -> None:
        """The documented command, for this release."""
        names = {"-n monitoring": f"-n {self.namespace}", "secret ": "secret a-"}
        cluster_shell(self.cluster, self._directory, replacements=names).run(command)


@pytest.fixture
def site(
    cluster: Cluster, prometheus: PrometheusServer, namespace: str, tmp_path: Path
) -> Iterator[Site]:
    prometheus.wait_for("count(up) > 0")
    site = Site(cluster, prometheus, namespace, tmp_path)
    yield site
    for release in site.helm.releases():
        site.helm.uninstall(release)
    site.stop_replicas()
    ports.release(site.port)


def test_no_request_fails_while_two_replicas_replace_their_certificate(
    site: Site, documented_blocks
):
    [renew] = documented_blocks
    site.helm.install("adapter", release="a", values=site.values)
    site.start_replicas()
    apiservices.wait_until_available(site.cluster, API)
    assert "insecureSkipTLSVerify" not in site.spec()
    (former,) = site.shown()
    assert site.bundle() == former

    def replaced() -> bool:
        assert len(shown := site.shown()) == 1
        assert former not in shown
        return True

    with Requests(site.cluster, site.path) as requests:
        requests.expect_more()
        site.renew(renew)
        until(replaced, what="one new certificate", deadline_seconds=ROTATION_DEADLINE_SECONDS)
        requests.expect_more()
    assert requests.failures == []
    (renewed,) = site.shown()
    assert site.bundle() == renewed + former


def test_an_upgrade_and_a_rollback_keep_what_the_adapter_has_written(site: Site):
    site.helm.install("adapter", release="a", values=site.values)
    site.start_replicas()
    apiservices.wait_until_available(site.cluster, API)
    trusted = site.bundle()
    with Requests(site.cluster, site.path) as requests:
        requests.expect_more()
        site.helm.upgrade("adapter", release="a", values={**site.values, "logLevel": 3})
        site.helm.upgrade("adapter", release="a", values={**site.values, "logLevel": 4})
        site.helm.rollback("a", revision=2)
    assert requests.failures == []
    assert site.bundle() == trusted

    # The first revision was rendered before there was a certificate.
    site.helm.rollback("a", revision=1)
    until(lambda: site.bundle() == trusted, what="the certificate, written again")
    assert site.is_served()


def test_a_release_without_verification_is_upgraded_without_a_gap_and_can_be_rolled_back(
    site: Site,
):
    """As in the chart of prometheus-adapter, whose pods respond until they are replaced."""
    site.helm.install("adapter", release="a", values={**site.values, "tls": {"managed": False}})
    site.start_replicas()
    apiservices.wait_until_available(site.cluster, API)
    with Requests(site.cluster, site.path) as requests:
        requests.expect_more()
        site.helm.upgrade("adapter", release="a", values=site.values)
        assert site.spec()["insecureSkipTLSVerify"] is True
    assert requests.failures == []

    site.stop_replicas()
    site.start_replicas()
    with Requests(site.cluster, site.path) as requests:
        # kube-apiserver may have noticed that the replicas were away for a moment.
        requests.expect_more()
    with Requests(site.cluster, site.path) as requests:
        requests.expect_more()
        site.helm.upgrade("adapter", release="a", values=site.values)
        assert "insecureSkipTLSVerify" not in site.spec()
        assert site.bundle() in site.shown()
        requests.expect_more()

        for revision in (2, 3, 1):
            site.helm.rollback("a", revision=revision)
            assert site.spec().get("insecureSkipTLSVerify", False) == (revision != 3)
            requests.expect_more()
    assert requests.failures == []
