"""What RBAC cannot restrict to a field: kube-apiserver rejects every other change by the programs, as the charts' policies say."""

import asyncio
import base64
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from testbed.cluster import Cluster
from testbed.helm import Helm
from testbed.waiting import until
from wire.api.status import StatusError
from wire.kube.client import KubeClient
from wire.kube.connection import connect

COST, OWN_COST = "controller.kubernetes.io/pod-deletion-cost", "loadline.io/pod-deletion-cost"
API_SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.custom.metrics.k8s.io"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


@pytest.fixture(scope="module")
def installed(cluster: Cluster, namespace_of_module: str) -> Iterator[str]:
    """The namespace of both charts. Nothing runs: the tests send requests with the tokens of their service accounts."""
    namespace = namespace_of_module
    helm = Helm(cluster, namespace)
    helm.install("adapter", release="a", values={"replicas": 0})
    helm.install("scaler", release="s", values={"replicas": 0, "rbac": {"podDeletionCost": True}})
    until(
        lambda: all(
            cluster.get(f"{POLICIES}/{name}.{namespace}")["status"].get("typeChecking") is not None
            for name in ("a-loadline-adapter", "s-loadline-scaler")
        ),
        what="the types of both policies to be checked",
    )
    pod = pod_with(cluster, namespace, {})
    until(lambda: asyncio.run(policies_act(cluster, namespace, pod)), what="both policies to act")
    yield namespace
    for release in helm.releases():
        helm.uninstall(release)


async def policies_act(cluster: Cluster, namespace: str, pod: str) -> bool:
    """Whether kube-apiserver applies them: it reads new ones every second, independently of the check of their types."""
    label = {"metadata": {"labels": {"a": "b"}}}
    answers = [
        await refusal(client, f"{path}?dryRun=All", label)
        for account, path in (("a-loadline-adapter", API_SERVICE), ("s-loadline-scaler", pod))
        async for client in client_of(cluster, namespace, account)
    ]
    return all("may change only" in answer for answer in answers)


async def client_of(cluster: Cluster, namespace: str, account: str) -> AsyncIterator[KubeClient]:
    kubeconfig = cluster.kubeconfig_for_service_account(namespace, account)
    client = KubeClient(await connect(kubeconfig, user_agent="test"))
    yield client
    await client.close()


@pytest.fixture
async def scaler(cluster: Cluster, installed: str) -> AsyncIterator[KubeClient]:
    async for client in client_of(cluster, installed, "s-loadline-scaler"):
        yield client


@pytest.fixture
async def adapter(cluster: Cluster, installed: str) -> AsyncIterator[KubeClient]:
    async for client in client_of(cluster, installed, "a-loadline-adapter"):
        yield client


async def refusal(client: KubeClient, path: str, change: dict[str, Any]) -> str:
    """The message of the 403 with which the API server rejects a merge patch; empty if it accepts it."""
    try:
        await client.patch(path, msgspec.json.encode(change))
    except StatusError as error:
        if error.code != 403:
            raise
        return error.message
    return ""


def pod_with(cluster: Cluster, namespace: str, annotations: dict[str, str]) -> str:
    """The path of a new pod."""
    name = f"web-{uuid.uuid4().hex[:8]}"
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
            "spec": {
                "automountServiceAccountToken": False,
                "containers": [{"name": "web", "image": "web:1"}],
            },
        }
    )
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def annotated(**values: str | None) -> dict[str, Any]:
    names = {"cost": COST, "own": OWN_COST, "other": "other"}
    return {"metadata": {"annotations": {names[key]: value for key, value in values.items()}}}


@pytest.mark.parametrize(
    ("before", "change", "refused"),
    [
        pytest.param({}, annotated(cost="-1", own="-1"), "", id="a cost is set"),
        pytest.param(
            {COST: "-1", OWN_COST: "-1"}, annotated(cost=None, own=None), "", id="removed"
        ),
        pytest.param(
            {COST: "7", OWN_COST: "-1"}, annotated(own=None), "", id="its note is removed"
        ),
        pytest.param(
            {COST: "7"}, annotated(cost="-1", own="-1"), "another client", id="a user's cost"
        ),
        pytest.param({COST: "-1"}, annotated(cost=None), "another client", id="a user's -1"),
        pytest.param({COST: "7"}, annotated(own="7"), "another client", id="a false note"),
        pytest.param({}, annotated(other="1"), "only the annotations", id="another annotation"),
        pytest.param({"other": "1"}, annotated(other="2"), "only the annotations", id="changed"),
        pytest.param({"other": "1"}, annotated(other=None), "only the annotations", id="deleted"),
        pytest.param(
            {},
            {"spec": {"containers": [{"name": "web", "image": "evil:1"}]}},
            "only the annotations",
            id="an image",
        ),
        pytest.param(
            {}, {"spec": {"activeDeadlineSeconds": 1}}, "only the annotations", id="a deadline"
        ),
        pytest.param(
            {}, {"metadata": {"labels": {"app": "other"}}}, "only the annotations", id="a label"
        ),
        pytest.param(
            {}, {"metadata": {"finalizers": ["a.io/b"]}}, "only the annotations", id="a finalizer"
        ),
    ],
)
async def test_the_scaler_may_change_the_deletion_cost_of_a_pod_and_nothing_else(
    cluster, installed, scaler, before, change, refused
):
    answer = await refusal(scaler, pod_with(cluster, installed, before), change)
    assert (refused in answer) if refused else (answer == "")


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        pytest.param({"spec": {"caBundle": "PEM"}}, False, id="caBundle"),
        pytest.param({"spec": {"service": {"name": "evil"}}}, True, id="the Service"),
        pytest.param({"spec": {"service": {"port": 1}}}, True, id="the port of the Service"),
        pytest.param({"spec": {"groupPriorityMinimum": 1}}, True, id="the priority of the group"),
        pytest.param({"spec": {"versionPriority": 1}}, True, id="the priority of the version"),
        pytest.param(
            {"spec": {"insecureSkipTLSVerify": True, "caBundle": None}}, True, id="no verification"
        ),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, True, id="a label"),
        pytest.param({"metadata": {"annotations": {"a": "b"}}}, True, id="an annotation"),
        pytest.param({"metadata": {"finalizers": ["a.io/b"]}}, True, id="a finalizer"),
    ],
)
async def test_the_adapter_may_change_the_ca_of_its_api_services_and_nothing_else(
    cluster, adapter, change, refused
):
    if not refused:
        change = {"spec": {"caBundle": base64.b64encode(cluster.authority).decode()}}
    answer = await refusal(adapter, API_SERVICE, change)
    assert (answer != "") is refused
    assert not refused or "the adapter may change only spec.caBundle of an APIService" in answer


def test_no_type_of_an_expression_is_wrong(cluster, installed):
    for name in ("a-loadline-adapter", "s-loadline-scaler"):
        status = cluster.get(f"{POLICIES}/{name}.{installed}")["status"]
        assert status["typeChecking"] == {}


def test_other_users_may_change_pods_and_api_services(cluster, installed):
    path = pod_with(cluster, installed, {})
    pod = path.rpartition("/")[2]
    cluster.kubectl("label", f"pod/{pod}", f"-n{installed}", "app=web")
    cluster.kubectl("label", "apiservice", API_SERVICE.rpartition("/")[2], "app=web")
