"""`/debug/explain` of a real adapter over a real cluster and Prometheus: every way for a metric to be missing, by name."""

import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import quote

import msgspec
import pytest

from adapter.diagnosis.explanation import SCHEMA, Explanation
from testbed import ports, web
from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.programs import LoadlineProcess, start_program
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.process.adapter.conftest import AdapterClient

CONFIGURATION = """
rules:
- seriesQuery: 'explained_load{namespace!="",pod!=""}'
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: 'explained_hits_total{namespace!=""}'
  resources: {template: '<<.Resource>>'}
  name: {matches: '^(.*)_total$', as: '${1}_per_second'}
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[1m])) by (<<.GroupBy>>)'
- seriesQuery: 'explained_unmapped{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: 'explained_never{namespace!="",pod!=""}'
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: 'explained_queue{team!=""}'
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: 'explained_idle{namespace!="",pod!=""}'
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>) * 0 / 0'
metrics:
- name: explained_ratio
  describes: pods
  query: 'explained_load * 0 / 0'
- name: explained_refused
  describes: pods
  query: 'rate(explained_load[1m]) * on (pod) explained_load'
- name: explained_queue
  labels: {namespace: namespace}
  query: 'sum by (namespace, queue) (explained_queue)'
"""
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta1"


@pytest.fixture(scope="module")
def adapter(
    cluster: Cluster, prometheus: PrometheusServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoadlineProcess]:
    """One adapter for this file."""
    folder = tmp_path_factory.mktemp("explained")
    (folder / "config.yaml").write_text(CONFIGURATION)
    with start_program(
        "adapter",
        f"--config={folder / 'config.yaml'}",
        f"--lister-kubeconfig={cluster.kubeconfig}",
        f"--prometheus-url={prometheus.url}",
        "--metrics-relist-interval=1s",
        "--metrics-max-age=1m",
        log_directory=folder,
    ) as running:
        yield running


@pytest.fixture
def client(adapter: LoadlineProcess, token: str) -> AdapterClient:
    return AdapterClient(adapter, token)


@pytest.fixture
def shop(cluster: Cluster, exporter: Exporter, namespace: str) -> Iterator[str]:
    """A namespace with a pod `web-1` whose load is 1.5, and other series of it."""
    pod = {"containers": [{"name": "main", "image": "main"}]}
    metadata = {"name": "web-1", "namespace": namespace, "labels": {"app": "web"}}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod})
    exporter.set("explained_load", 1.5, namespace=namespace, pod="web-1")
    exporter.set("explained_hits_total", 5, namespace=namespace)
    exporter.set("explained_unmapped", 5, namespace=namespace, pod="web-1")
    exporter.set("explained_queue", 5, namespace=namespace, queue="mail")
    exporter.set("explained_idle", 1, namespace=namespace, pod="web-1")
    yield namespace
    for name in ("load", "hits_total", "unmapped", "queue", "idle"):
        exporter.remove(f"explained_{name}", namespace=namespace)


def explained(client: AdapterClient, path: str) -> Explanation:
    code, document = client.get(f"/debug/explain?path={quote(path, safe='')}")
    assert code == 200, document
    return msgspec.convert(document, Explanation)


def once(client: AdapterClient, path: str, reason: str) -> Explanation:
    """The explanation, once it names this reason first ("": once there is an answer without remarks)."""

    def right() -> Explanation:
        explanation = explained(client, path)
        assert [each.reason for each in explanation.findings][:1] == ([reason] if reason else []), (
            explanation
        )
        return explanation

    return until(right, what=f"{reason} of {path}", deadline_seconds=15)


def test_a_value_is_explained_step_by_step(client, shop):
    path = f"{CUSTOM}/namespaces/{shop}/pods/*/explained_load?labelSelector=app%3Dweb"
    explanation = once(client, path, "")
    assert (explanation.code, explanation.ended_at, explanation.path, explanation.schema) == (
        200,
        "",
        path,
        SCHEMA,
    )
    assert explanation.request
    assert (
        explanation.request.resource,
        explanation.request.name,
        explanation.request.selector,
    ) == (
        "pods",
        "*",
        "app=web",
    )
    assert explanation.rule
    assert (explanation.rule.path, explanation.rule.series) == ("rules[0]", "explained_load")
    assert explanation.objects
    assert explanation.objects.names == ("web-1",)
    [query] = explanation.queries
    assert query.query == f'sum(explained_load{{namespace="{shop}",pod="web-1"}}) by (pod)'
    assert [(row.labels, row.value) for row in query.rows] == [({"pod": "web-1"}, "1.5")]
    assert [(value.of, value.value) for value in explanation.values] == [("web-1", "1500m")]


@pytest.mark.parametrize(
    ("path", "reason", "step", "message", "fix"),
    [
        pytest.param("pods/web-1/explained_laod", "NoRule", "rule", "no rule yields a metric named explained_laod", "add under `metrics`", id="no rule"),
        pytest.param("pods/web-1/explained_gone", "NoRule", "rule", "no rule", "describes: pods", id="no rule and no series"),
        pytest.param("pods/web-1/explained_never", "NoSeries", "rule", "rules[3] would serve it, but Prometheus has no series", "Check that the target is up", id="no series"),
        pytest.param("pods/web-1/explained_queue", "NoSeries", "rule", "seriesQuery does not select it", "Give the series the labels", id="series that are not selected"),
        pytest.param("pods/web-1/explained_ratio", "NotANumber", "value", "Prometheus returned NaN for web-1; because of signal.onNaN, this is an error", "0/0", id="NaN"),
        pytest.param("pods/*/explained_load?labelSelector=app%3Ddb", "NoObjects", "objects", "match the label selector 'app=db'", "kubectl get pods -n", id="no objects"),
        pytest.param("pods/web-1/explained_unmapped", "LabelNotMapped", "rule", "rules[2] makes explained_unmapped from explained_unmapped, but maps no label to pods", "rules[2].resources.overrides", id="label not mapped"),
        pytest.param("pods/web-1/explained_hits_per_second", "LabelNotMapped", "rule", "from its label 'pod', which the series does not have", "Relabel the target", id="the series lacks the label"),
        pytest.param("pods/web-2/explained_load", "NoRows", "value", "no row", "in the label 'pod'", id="no row"),
        pytest.param("gadgets/web-1/explained_load", "UnknownResource", "rule", "no resource gadgets", "kubectl api-resources", id="unknown resource"),
        pytest.param("pods/web-1/explained_refused", "QueryRefused", "samples", "refused the query", "Run the query in Prometheus", id="bad PromQL"),
    ],
)  # fmt: skip
def test_a_missing_metric_is_explained_with_the_step_and_the_fix(
    client, exporter, shop, path, reason, step, message, fix
):
    exporter.set("explained_load", 2, namespace=shop, pod="web-1", twice="yes")
    explanation = once(client, f"{CUSTOM}/namespaces/{shop}/{path}", reason)
    assert explanation.ended_at == step
    assert explanation.code >= 400
    assert explanation.message
    assert message in explanation.findings[0].message
    assert fix in explanation.findings[0].fix


def test_a_similar_name_is_shown(client, shop):
    once(client, f"{CUSTOM}/namespaces/{shop}/pods/*/explained_load", "")
    explanation = once(client, f"{CUSTOM}/namespaces/{shop}/pods/*/explained_laod", "NoRule")
    assert "pods/explained_load" in explanation.similar


def test_nan_that_counts_as_zero_is_remarked_on(client, shop):
    """prometheus-adapter's rules return 0 for 0/0, which the user should know."""
    explanation = once(
        client, f"{CUSTOM}/namespaces/{shop}/pods/web-1/explained_idle", "NotANumber"
    )
    assert (explanation.code, explanation.ended_at) == (200, "")
    assert [value.value for value in explanation.values] == ["0"]
    assert "counts as 0" in explanation.findings[0].message
    assert [row.value for row in explanation.queries[0].rows] == ["NaN"]


def test_a_metric_that_exists_for_another_resource_says_for_which(client, shop):
    explanation = once(
        client, f"{CUSTOM}/namespaces/{shop}/deployments.apps/web/explained_ratio", "OtherResource"
    )
    assert "only for pods" in explanation.findings[0].message


def test_rows_of_other_namespaces_are_counted_and_never_shown(client, exporter, shop):
    exporter.set("explained_queue", 9, namespace="elsewhere-" + shop, queue="secret")
    path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{shop}/explained_queue"

    def both() -> Explanation:
        explanation = explained(client, path)
        assert explanation.queries[0].rows_returned >= 2
        return explanation

    explanation = until(both, what="the rows of both namespaces")
    assert [row.labels["queue"] for row in explanation.queries[0].rows] == ["mail"]
    assert explanation.queries[0].rows_counted == 1
    assert [value.of for value in explanation.values] == [f"namespace={shop}, queue=mail"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param(
            "/apis/metrics.k8s.io/v1beta1/pods", "GroupNotServed", id="a group without rules"
        ),
        pytest.param(f"{CUSTOM}/namespaces/a/b", "BadRequest", id="a path that is none"),
        pytest.param(
            f"{CUSTOM}/namespaces/a/pods/*/m?labelSelector=%21%21",
            "BadRequest",
            id="a bad selector",
        ),
        pytest.param("/apis/apps/v1/deployments", "BadRequest", id="another API"),
    ],
)
def test_an_invalid_path_is_reported(client, path, reason):
    explanation = explained(client, path)
    assert (explanation.ended_at, explanation.findings[0].reason) == ("request", reason)


def test_prometheus_down_is_named_whether_or_not_the_rules_were_listed(
    cluster, loadline_process, tmp_path, token
):
    (tmp_path / "config.yaml").write_text(CONFIGURATION)
    down = AdapterClient(
        loadline_process(
            "adapter",
            f"--config={tmp_path / 'config.yaml'}",
            f"--lister-kubeconfig={cluster.kubeconfig}",
            f"--prometheus-url=http://127.0.0.1:{ports.reserve()}",
            "--prometheus-timeout=1s",
            wait=False,
        ),
        token,
    )
    down.adapter.process.wait_until(
        lambda: web.is_ok(down.adapter.port, "/livez", tls=web.trusting(None)), what="/livez"
    )
    discovered = once(down, f"{CUSTOM}/namespaces/a/pods/web-1/explained_load", "PrometheusDown")
    assert (discovered.code, discovered.ended_at) == (503, "rule")
    named = once(down, f"{CUSTOM}/namespaces/a/pods/web-1/explained_ratio", "PrometheusDown")
    assert (named.code, named.ended_at) == (500, "samples")
    assert "--prometheus-url" in named.findings[0].fix
    assert named.queries[0].query == "explained_load * 0 / 0"


def test_a_user_who_may_not_read_the_metric_gets_no_explanation_of_it(client, cluster, shop):
    """The right on /debug/explain alone is not enough."""
    account = f"explainer-{shop}"
    cluster.kubectl("create", "serviceaccount", account, f"-n{shop}")
    cluster.kubectl(
        "create", "clusterrole", account, "--verb=get", "--non-resource-url=/debug/explain"
    )
    cluster.kubectl(
        "create",
        "clusterrolebinding",
        account,
        f"--clusterrole={account}",
        f"--serviceaccount={shop}:{account}",
    )
    outsider = AdapterClient(client.adapter, cluster.token(shop, account))
    path = f"{CUSTOM}/namespaces/{shop}/pods/%2A/explained_load"
    code, refused = outsider.get(f"/debug/explain?path={quote(path, safe='')}")
    assert (code, refused["reason"]) == (403, "Forbidden")
    assert "pods/explained_load" in refused["message"]
    rule = {
        "apiGroups": ["custom.metrics.k8s.io"],
        "resources": ["pods/explained_load"],
        "verbs": ["get"],
    }
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    metadata = {"name": account, "namespace": shop}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": shop}
    to = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account}
    cluster.apply(
        rbac | {"kind": "Role", "metadata": metadata, "rules": [rule]},
        rbac | {"kind": "RoleBinding", "metadata": metadata, "roleRef": to, "subjects": [subject]},
    )

    def allowed() -> bool:
        assert explained(outsider, path).values
        return True

    # The refusal is remembered for ten seconds.
    until(allowed, what="the explanation for who may read the metric", deadline_seconds=20)
    for kind in ("clusterrolebinding", "clusterrole"):
        cluster.kubectl("delete", kind, account)


def test_the_endpoint_needs_the_right_on_its_path(client, cluster, namespace):
    cluster.kubectl("create", "serviceaccount", "outsider", f"-n{namespace}")
    token = cluster.token(namespace, "outsider")
    code, _ = AdapterClient(client.adapter, token).get(f"/debug/explain?path={CUSTOM}/nodes/a/m")
    assert code == 403


@pytest.mark.parametrize("path", ["", "nothing", "/api/v1/pods", "/apis/x%zz/a/b/c"])
def test_a_path_that_cannot_be_explained_is_a_bad_request(client, path):
    code, refused = client.get(f"/debug/explain?path={quote(path, safe='')}")
    assert (code, refused["reason"]) == (400, "BadRequest")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "adapter", "explain", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_command_uses_the_running_adapter(adapter, client, cluster, shop):
    path = f"{CUSTOM}/namespaces/{shop}/pods/*/explained_load?labelSelector=app=web"
    once(client, path, "")
    to = (f"--server={adapter.url}", f"--kubeconfig={cluster.kubeconfig}")
    refused = run(path, *to)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--ca-file" in refused.stderr
    to = (*to, "--insecure-skip-tls-verify")
    explanation = run(path, *to)
    assert (explanation.returncode, explanation.stderr) == (0, "")
    for line in (
        "rule     rules[0] from the series explained_load",
        "objects  web-1",
        "web-1 = 1500m",
    ):
        assert line in explanation.stdout
    missing = run(path.replace("app=web", "app=db"), *to, "--output=json")
    assert missing.returncode == 1
    [explanation] = msgspec.json.decode(missing.stdout)["explanations"]
    assert explanation["findings"][0]["reason"] == "NoObjects"


def test_the_command_answers_without_a_running_adapter(
    adapter, client, cluster, prometheus, shop, tmp_path
):
    path = f"{CUSTOM}/namespaces/{shop}/pods/web-1/explained_load"
    once(client, path, "")
    (tmp_path / "c.yaml").write_text(CONFIGURATION)
    here = (f"--config={tmp_path / 'c.yaml'}", f"--kubeconfig={cluster.kubeconfig}")
    explanation = run(path, *here, f"--prometheus-url={prometheus.url}", "--output=json")
    assert (explanation.returncode, explanation.stderr) == (0, "")
    [from_here] = msgspec.json.decode(explanation.stdout)["explanations"]
    assert from_here["values"][0]["value"] == "1500m"
    assert from_here["rule"] == msgspec.to_builtins(explained(client, path).rule)


@pytest.mark.parametrize("target", ["web", "a/b/c/d", "deployment/a/b"])
def test_a_target_that_is_none_is_a_wrong_command_line(target):
    explanation = run(target)
    assert explanation.returncode == 2
    assert "NAMESPACE/NAME" in explanation.stderr
