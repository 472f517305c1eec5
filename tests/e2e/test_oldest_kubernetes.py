"""Both charts on the oldest Kubernetes version that both support; the other tests run on the newest."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import apiservices, ports
from testbed.assets import OLDEST
from testbed.chart_programs import start_chart_program
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions, HPAOptions
from testbed.helm import CHARTS, Helm
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e import crd_extension_cases, crd_pod_cases, crd_trial_cases
from tests.e2e.crd_cases import INVALID, VALID, Spec
from tests.e2e.test_crd import LA, dry_run
from wire.api.status import StatusError
from wire.kube.client import KubeClient
from wire.kube.connection import connect
from wire.process import go_yaml

APIS = ("v1beta1.external.metrics.k8s.io", "v1beta2.custom.metrics.k8s.io")
METRICS = [
    {"name": "waiting", "query": "count(up) * 0 + 40"},
    {"name": "load", "describes": "pods", "query": "sum by (namespace, pod) (up)"},
]


@pytest.fixture(scope="module")
def oldest() -> Iterator[Cluster]:
    options = ClusterOptions(
        kubernetes_suffix=OLDEST, hpa=HPAOptions(sync_period_seconds=1), nodes=1
    )
    with Cluster(options) as cluster:
        cluster.create_namespace("shop")
        yield cluster


@pytest.fixture(scope="module")
def installed(
    oldest: Cluster, prometheus: PrometheusServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    helm, port = Helm(oldest, "shop"), ports.reserve()
    adapter = {
        "service": {"type": "ExternalName", "externalName": "localhost", "port": port},
        "prometheus": {"url": "http://127.0.0.1", "port": prometheus.port},
        "rules": {"default": False, "metrics": METRICS},
    }
    notes = helm.install("adapter", release="a", values=adapter)
    assert "No ValidatingAdmissionPolicy restricts that to\ncaBundle" in notes
    scaler = {"syncPeriod": "1s", "rbac": {"podDeletionCost": True}}
    notes = helm.install("scaler", release="s", values=scaler)
    assert "No ValidatingAdmissionPolicy restricts that to\ntheir deletion cost" in notes
    directory = Path(tmp_path_factory.mktemp("programs"))
    with (
        start_chart_program(
            oldest, "adapter", namespace="shop", release="a", directory=directory, port=port
        ),
        start_chart_program(oldest, "scaler", namespace="shop", release="s", directory=directory),
    ):
        for api in APIS:
            apiservices.wait_until_available(oldest, api)
        yield oldest
    for release in ("a", "s"):
        helm.uninstall(release)


def test_the_charts_state_the_version_that_is_tested(oldest):
    tested = oldest.get("/version")
    assert (tested["major"], tested["minor"]) == ("1", "29")
    stated = {
        chart: go_yaml.load((CHARTS / chart / "Chart.yaml").read_text())["kubeVersion"]
        for chart in ("adapter", "scaler")
    }
    assert stated == {"adapter": ">=1.23.0-0", "scaler": ">=1.29.0-0"}


def test_metrics_are_served_with_a_verified_certificate(installed):
    for api in APIS:
        spec = installed.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{api}")["spec"]
        assert spec["caBundle"]
        assert not spec.get("insecureSkipTLSVerify")
    (item,) = installed.get("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/waiting")[
        "items"
    ]
    assert item["value"] == "40"


async def test_loadautoscalers_are_validated_as_by_the_newest_version(installed):
    accepted = (
        VALID | crd_extension_cases.ACCEPTED | crd_pod_cases.ACCEPTED | crd_trial_cases.ACCEPTED
    )
    refused = INVALID | {
        name: case
        for name, (case, _) in (
            crd_extension_cases.REFUSED | crd_pod_cases.REFUSED | crd_trial_cases.REFUSED
        ).items()
    }
    client = KubeClient(await connect(installed.kubeconfig, user_agent="test"))
    try:
        wrongly_refused = {name for name in accepted if not await is_valid(client, accepted[name])}
        wrongly_accepted = {name for name in refused if await is_valid(client, refused[name])}
    finally:
        await client.close()
    assert (wrongly_refused, wrongly_accepted) == (set(), set())


async def is_valid(client: KubeClient, spec: Spec) -> bool:
    """Whether the API server accepts a LoadAutoscaler with this spec."""
    try:
        await dry_run(client, LA, spec)
    except StatusError as error:
        if error.code not in (400, 422):
            raise
        return False
    return True


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        pytest.param("autoscaling/v2", "HorizontalPodAutoscaler", id="HPA"),
        pytest.param("loadline.io/v1beta1", "LoadAutoscaler", id="LoadAutoscaler"),
    ],
)
def test_an_autoscaler_scales_its_target(installed, api_version, kind):
    """An HPA is scaled by the HPA controller of this version, a LoadAutoscaler by the scaler."""
    name = f"web-{kind.lower()}"
    external = {
        "metric": {"name": "waiting"},
        "target": {"type": "AverageValue", "averageValue": "10"},
    }
    autoscaler = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "maxReplicas": 9,
            "metrics": [{"type": "External", "external": external}],
        },
    }
    installed.kubectl("create", "deployment", name, "--image=web", "--replicas=2", "-nshop")
    installed.apply(autoscaler)
    deployment = f"/apis/apps/v1/namespaces/shop/deployments/{name}"
    until(
        lambda: installed.get(deployment)["status"].get("readyReplicas") == 4,
        what="four ready replicas",
    )
