"""Several backends: by POST, behind a path prefix, with a password and a tenant; and their warnings."""

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from testbed.waiting import until
from tests.process.adapter.conftest import AdapterClient, answers
from tests.process.adapter.gateway import Gateway

PREFIX = "/select/42/prometheus"
PASSWORD = "hunter2"


class TenantGateway(Gateway):
    """Prometheus under a path, for who says the password and the tenant; it may say that it lacks a part."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.remark: dict[str, object] = {}
        self.tenants: list[str] = []

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway, plain = self, super()._handler()

        class Tenant(plain):  # type: ignore[misc, valid-type]
            def do_GET(self) -> None:  # noqa: N802  the name that http.server calls
                expected = base64.b64encode(f"reader:{PASSWORD}".encode()).decode()
                if self.headers.get("Authorization") != f"Basic {expected}":
                    self._say(401, b"")
                elif not self.path.startswith(f"{PREFIX}/api/v1/"):
                    self._say(404, b"")
                else:
                    gateway.tenants.append(self.headers.get("X-Scope-OrgID", ""))
                    self.path = self.path.removeprefix(PREFIX)
                    super().do_GET()

            def _say(self, code: int, body: bytes, promised: int | None = None) -> None:
                if code == 200 and gateway.remark and "/query" in self.path:
                    body = json.dumps({**json.loads(body), **gateway.remark}).encode()
                super()._say(code, body, promised)

        return Tenant


CONFIGURATION = """
backends:
- name: cluster
  url: URL/select/42/prometheus
  headers: {X-Scope-OrgID: team-a}
  username: reader
  passwordFile: PASSWORD_FILE
  timeout: 2s
  maxConcurrency: 2
externalRules:
- seriesQuery: 'backend_queue{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>})'
- seriesQuery: 'backend_queue{namespace!="",queue!=""}'
  backend: cluster
  resources: {overrides: {namespace: {resource: namespace}}}
  name: {as: of_the_tenant}
  metricsQuery: '2 * sum(<<.Series>>{<<.LabelMatchers>>})'
metrics:
- name: strict
  backend: cluster
  labels: {namespace: namespace}
  query: '3 * sum by (namespace) (backend_queue)'
"""
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces"


@pytest.fixture
def tenant(prometheus) -> Iterator[TenantGateway]:
    with TenantGateway(prometheus.url) as listening:
        yield listening


@pytest.fixture
def client(
    quick_adapter, prometheus, tenant, token, config: Path, exporter, namespace, tmp_path
) -> AdapterClient:
    """An adapter whose default backend is queried by POST, and another behind the gateway."""
    exporter.set("backend_queue", 10, namespace=namespace, queue="mail")
    prometheus.wait_for(f'backend_queue{{namespace="{namespace}"}}')
    (tmp_path / "password").write_text(PASSWORD + "\n")
    written = CONFIGURATION.replace("URL", tenant.url)
    config.write_text(written.replace("PASSWORD_FILE", str(tmp_path / "password")))
    return AdapterClient(quick_adapter(prometheus.url, "--prometheus-verb=POST"), token)


def test_each_rule_queries_its_own_backend(client, tenant, namespace):
    answers(client, f"{EXTERNAL}/{namespace}/backend_queue", "10")
    answers(client, f"{EXTERNAL}/{namespace}/of_the_tenant", "20")
    answers(client, f"{EXTERNAL}/{namespace}/strict", "30")
    assert set(tenant.tenants) == {"team-a"}
    requests = "loadline_adapter_prometheus_requests_total"
    for backend in ("default", "cluster"):
        labels = f'{{backend="{backend}",endpoint="query",outcome="succeeded"}}'
        assert client.metric(requests + labels) >= 1


@pytest.mark.parametrize(
    "remark",
    [
        pytest.param({"warnings": ["No StoreAPIs matched for this query"]}, id="Thanos"),
        pytest.param({"isPartial": True}, id="VictoriaMetrics"),
    ],
)
def test_a_partial_result_is_refused_by_named_rules_and_accepted_by_discovery_rules(
    client, tenant, namespace, remark
):
    strict = f"{EXTERNAL}/{namespace}/strict"
    answers(client, strict, "30")
    tenant.remark = remark

    def refused() -> bool:
        code, document = client.get(strict)
        assert code == 500
        assert "some stores did not answer" in document["message"]
        return True

    until(refused, what="the refusal")
    answers(client, f"{EXTERNAL}/{namespace}/of_the_tenant", "20")
    tenant.remark = {}
    answers(client, strict, "30")


def test_a_backend_that_hangs_does_not_delay_the_others(client, tenant, namespace):
    answers(client, f"{EXTERNAL}/{namespace}/strict", "30")
    tenant.fault = "hangs"
    until(lambda: client.get(f"{EXTERNAL}/{namespace}/strict")[0] == 500, what="the time-out")
    answers(client, f"{EXTERNAL}/{namespace}/backend_queue", "10", deadline_seconds=1.5)
    tenant.fault = "none"
    tenant.let_go()
    answers(client, f"{EXTERNAL}/{namespace}/strict", "30")


def test_no_secret_is_in_the_log_or_in_an_error(client, tenant, namespace):
    answers(client, f"{EXTERNAL}/{namespace}/strict", "30")
    tenant.fault = "503"
    refusal = until(
        lambda: (text := client.get(f"{EXTERNAL}/{namespace}/strict"))[0] == 500 and text[1],
        what="the refusal",
    )
    assert PASSWORD not in json.dumps(refusal)
    assert PASSWORD not in client.adapter.process.log()
