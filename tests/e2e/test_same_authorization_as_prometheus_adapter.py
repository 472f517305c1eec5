"""Clients are authenticated and authorized exactly as by prometheus-adapter.

The real prometheus-adapter v0.12.0 and Loadline's adapter run on one kube-apiserver and one Prometheus. Both get the
same requests from every kind of client: through the front proxy, with certificates, with tokens, without credentials.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from testbed.cluster import Cluster
from testbed.differential.adapter import adapter_deviations, response_comparison
from testbed.differential.adapter.adapter_instances import (
    LOADLINE,
    UPSTREAM,
    AdapterInstance,
    Response,
    start_adapter,
)
from testbed.differential.adapter.frozen_prometheus import FrozenPrometheus
from testbed.differential.adapter.metrics_requests import CUSTOM, EXTERNAL, MetricsRequest
from testbed.differential.authorization import accounts_and_roles
from testbed.differential.authorization.client_connection import (
    HANDSHAKE_REFUSED,
    Client,
    ClientConnection,
)
from testbed.differential.authorization.clients import UNTRUSTED_CERTIFICATES, clients
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until

OWN_CONTENT = ("/metrics", "/version", "/openapi/v2", "/")
"""Content that each program has of its own; only the right to read it is compared."""

DEVIATIONS_DOCUMENT = Path(__file__).parents[2] / "docs" / "deviations.md"
UNKNOWN_AUTHORITIES = "unknown-client-authorities"


class ResponsePair(msgspec.Struct, frozen=True, kw_only=True):
    """Both responses to one request."""

    request: MetricsRequest
    upstream: Response
    loadline: Response
    at_seconds: float
    moment_seconds: float


class BothAdapters(msgspec.Struct, frozen=True, kw_only=True):
    """The two adapters, and the time at which their Prometheus evaluates every query."""

    adapters: tuple[AdapterInstance, AdapterInstance]
    moment_seconds: float


@pytest.fixture(scope="module")
def both(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothAdapters]:
    """Both adapters, ready and with all metrics listed."""
    directory = tmp_path_factory.mktemp("authorization")
    configuration = directory / "config.yaml"
    configuration.write_text(accounts_and_roles.CONFIGURATION)
    options = PrometheusOptions(scrape_interval_seconds=0.5)
    with Exporter() as exporter, PrometheusServer(options, directory=directory) as prometheus:
        prometheus.add_target(exporter.target)
        accounts_and_roles.expose(exporter)
        accounts_and_roles.install(cluster)
        prometheus.wait_for("backlog")
        moment = round(time.time(), 3)  # as Prometheus evaluates
        with FrozenPrometheus(prometheus.port, at_unix_seconds=moment) as frozen:
            options_of_both = {
                "cluster": cluster,
                "configuration": configuration,
                "prometheus_url": frozen.url,
                "directory": directory,
            }
            with (
                start_adapter(UPSTREAM, **options_of_both) as upstream,
                start_adapter(LOADLINE, **options_of_both) as loadline,
            ):
                adapters = (upstream, loadline)
                until(lambda: all(map(lists_all_metrics, adapters)), what="metrics")
                yield BothAdapters(adapters=adapters, moment_seconds=moment)
        accounts_and_roles.remove(cluster)


def lists_all_metrics(adapter: AdapterInstance) -> bool:
    listed = [
        adapter.send(MetricsRequest(category="discovery", target=f"/apis/{group}/v1beta1"))
        for group in (CUSTOM, EXTERNAL)
    ]
    names = {
        each["name"]
        for response in listed
        for each in json.loads(response.body).get("resources", [])
    }
    return names >= set(accounts_and_roles.LISTED_METRICS)


@pytest.fixture(scope="module")
def responses(both, cluster, tmp_path_factory) -> dict[str, list[ResponsePair]]:
    """Both responses to every request, by the client's name."""
    directory = tmp_path_factory.mktemp("clients")
    return {each.name: send_all(each, both, directory) for each in clients(cluster)}


def send_all(client: Client, both: BothAdapters, directory: Path) -> list[ResponsePair]:
    connections = [ClientConnection(each.port, client, directory) for each in both.adapters]
    found = []
    with ThreadPoolExecutor(len(connections)) as pool:
        for request in accounts_and_roles.requests():
            upstream, loadline = pool.map(lambda each, r=request: each.send(r), connections)
            found.append(
                ResponsePair(
                    request=request,
                    upstream=upstream,
                    loadline=loadline,
                    at_seconds=time.time(),
                    moment_seconds=both.moment_seconds,
                )
            )
    for connection in connections:
        connection.close()
    return found


def difference(each: ResponsePair) -> tuple[str, list[str]]:
    """The deviation that explains it ("" for none), and the differences."""
    if each.request.target in OWN_CONTENT and each.upstream.status == each.loadline.status == 200:
        return "", []
    if each.upstream.status == 401 and each.loadline == HANDSHAKE_REFUSED:
        return UNKNOWN_AUTHORITIES, ["401, and no handshake"]
    upstream, loadline = (
        response_comparison.comparable(
            response, now_seconds=each.at_seconds, moment_seconds=each.moment_seconds
        )
        for response in (each.upstream, each.loadline)
    )
    places = response_comparison.differences(upstream, loadline)
    if not places:
        return "", []
    return adapter_deviations.explain(each.request, upstream, loadline) or "", places


def test_every_client_gets_the_same_response_from_both(responses):
    unexplained = []
    for name, found in responses.items():
        for each in found:
            deviation, places = difference(each)
            if places and not deviation:
                unexplained.append(f"{name}: {each.request}: {places}")
    assert "\n".join(unexplained) == ""


@pytest.mark.deviation("unknown-client-authorities")
def test_only_untrusted_certificates_fail_the_handshake(responses):
    failed = {
        name
        for name, found in responses.items()
        if any(e.loadline == HANDSHAKE_REFUSED for e in found)
    }
    assert failed == set(UNTRUSTED_CERTIFICATES)
    assert {
        each.upstream.status for name in UNTRUSTED_CERTIFICATES for each in responses[name]
    } == {401}
    assert f"| `{UNKNOWN_AUTHORITIES}` |" in DEVIATIONS_DOCUMENT.read_text()


def test_the_clients_have_different_permissions(responses, capsys):
    """If all clients got the same responses, the comparison would prove nothing."""
    here = f"/apis/{CUSTOM}/v1beta1/namespaces/{accounts_and_roles.NAMESPACE}/pods/web-0"
    statuses_by_client = {
        name: tuple(
            next(e.upstream.status for e in found if e.request.target == f"{here}/{metric}")
            for metric in ("inflight", "latency")
        )
        for name, found in responses.items()
    }
    assert statuses_by_client["no credentials"] == (403, 403)
    assert statuses_by_client["the front proxy for a reader of all"] == (200, 200)
    assert statuses_by_client["the front proxy for a reader of one"] == (200, 403)
    assert statuses_by_client["the front proxy for no user"] == (401, 401)
    assert statuses_by_client["a front proxy with a name that is not allowed"] == (401, 401)
    assert statuses_by_client["forged headers with a certificate"] == (200, 403)
    assert statuses_by_client["a certificate of a reader of nothing"] == (403, 403)
    assert statuses_by_client["a token of a reader of one"] == (200, 403)
    assert statuses_by_client["a token signed by hand"] == (200, 200)
    assert statuses_by_client["a token that has expired"] == (401, 401)
    assert statuses_by_client["a token that is garbage"] == (401, 401)
    assert statuses_by_client["an impersonator of a reader of all"] == (200, 200)
    assert statuses_by_client["an impersonator of a reader of one"] == (200, 403)
    assert statuses_by_client["an impersonator of a user it may not be"] == (403, 403)
    assert statuses_by_client["an impersonator of a group it may not be in"] == (403, 403)
    assert statuses_by_client["a reader of all who may not impersonate"] == (403, 403)
    statuses = Counter(str(each.upstream.status) for found in responses.values() for each in found)
    count = sum(statuses.values())
    summary = {
        "clients": len(responses),
        "requests": count,
        "statuses": dict(sorted(statuses.items())),
    }
    with capsys.disabled():
        sys.stderr.write(f"\nsame authorization: {json.dumps(summary)}\n")
    assert min(statuses[code] for code in ("200", "401", "403", "404", "405")) > 10
