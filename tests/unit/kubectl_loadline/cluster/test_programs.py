"""Which Deployment a command uses, and which of the pods with its labels are its own."""

import pytest

from kubectl_loadline.cluster.connecting import Session, Unreachable
from kubectl_loadline.cluster.programs import (
    REVIEWS,
    ScaledByKubernetes,
    adapter_of,
    pods_of,
    scaler_of,
)
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.fakes.scaler import FakeKube
from wire.api.status import forbidden

DEPLOYMENTS = "/apis/apps/v1/deployments"
PODS = "/api/v1/namespaces/monitoring/pods"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
EXTERNAL = "v1beta1.external.metrics.k8s.io"
CUSTOM = "v1beta1.custom.metrics.k8s.io"
ALLOWED = b'{"status": {"allowed": true}}'
REFUSED = b'{"status": {"allowed": false}}'


def deployment(program="scaler", *args, name="", namespace="monitoring"):
    container = {"command": [f"loadline-{program}"], "args": list(args)}
    pod = {"containers": [container], "serviceAccountName": "account"}
    labels = {"app": program, "version": "1"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {
        "metadata": {"name": name or f"loadline-{program}", "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": program}}, "template": template},
    }


def session(*deployments, reviews=(ALLOWED,)):
    """With these Deployments; the APIServices lead nowhere."""
    kube = FakeKube()
    kube.serve(DEPLOYMENTS, {"items": list(deployments)})
    for namespace in {each["metadata"]["namespace"] for each in deployments}:
        inside = [each for each in deployments if each["metadata"]["namespace"] == namespace]
        kube.serve(f"/apis/apps/v1/namespaces/{namespace}/deployments", {"items": inside})
    kube.create_answers = list(reviews)
    return Session(connection=None, client=kube, namespace="shop")


def register(cluster, api_service, service="monitoring/loadline-adapter", selector=None, **spec):
    """An APIService, and the Service that it names."""
    namespace, name = service.split("/")
    spec = {"service": {"namespace": namespace, "name": name}, **spec}
    cluster.client.serve(
        f"{API_SERVICES}/{api_service}", {"metadata": {"name": api_service}, "spec": spec}
    )
    cluster.client.serve(
        f"/api/v1/namespaces/{namespace}/services/{name}",
        {"metadata": {"name": name}, "spec": {"selector": selector}},
    )


async def test_the_adapter_is_the_deployment_behind_the_service_of_the_apiservices():
    cluster = session(deployment("adapter", name="mine"))
    for each in (EXTERNAL, CUSTOM):
        register(cluster, each, selector={"app": "adapter"})
    assert str(await adapter_of(cluster, "")) == "Deployment monitoring/mine"


async def test_a_deployment_with_the_labels_of_the_chart_is_not_taken_for_the_adapter():
    decoy = deployment("adapter", namespace="decoy")
    cluster = session(deployment("adapter"), decoy)
    register(cluster, EXTERNAL, selector={"app": "adapter"})
    assert (await adapter_of(cluster, "")).namespace == "monitoring"
    with pytest.raises(Unreachable, match=r"no APIService.*--adapter=NAMESPACE/NAME"):
        await adapter_of(session(decoy), "")


async def test_a_deployment_that_the_service_does_not_select_is_not_the_adapter():
    cluster = session(deployment("adapter"))
    register(cluster, EXTERNAL, selector={"app": "something else"})
    with pytest.raises(Unreachable, match="points to a Deployment"):
        await adapter_of(cluster, "")


async def test_a_service_without_pods_leads_to_the_deployment_of_its_name():
    """Of type ExternalName, for an adapter that runs outside the cluster."""
    cluster = session(deployment("adapter"), deployment("adapter", name="other"))
    register(cluster, EXTERNAL)
    assert (await adapter_of(cluster, "")).name == "loadline-adapter"


async def test_a_metrics_api_of_another_program_whose_namespace_is_closed_is_left_out():
    cluster = session(deployment("adapter"))
    register(cluster, EXTERNAL, "keda/keda-operator-metrics-apiserver")
    closed = "/apis/apps/v1/namespaces/keda/deployments"
    cluster.client.answers[closed] = forbidden("cannot list deployments in keda")
    with pytest.raises(Unreachable, match="cannot list deployments in keda"):
        await adapter_of(cluster, "")
    register(cluster, CUSTOM, selector={"app": "adapter"})
    assert (await adapter_of(cluster, "")).name == "loadline-adapter"


async def test_without_the_right_to_read_apiservices_the_user_names_the_adapter():
    cluster = session()
    for each in (EXTERNAL, CUSTOM):
        cluster.client.answers[f"{API_SERVICES}/{each}"] = forbidden("cannot get apiservices")
    with pytest.raises(Unreachable, match=r"cannot get apiservices.*--adapter=NAMESPACE/NAME"):
        await adapter_of(cluster, "")


async def test_of_several_adapters_the_user_chooses():
    cluster = session(deployment("adapter", name="a"), deployment("adapter", name="b"))
    register(cluster, EXTERNAL, selector={"app": "adapter"})
    with pytest.raises(Unreachable, match="choose one of monitoring/a, monitoring/b"):
        await adapter_of(cluster, "")


def with_arguments_only(name):
    """As in the manifests of prometheus-adapter."""
    only = deployment("adapter", name=name)
    image = "registry.example.com/loadline-autoscaler:0.1.0"
    only["spec"]["template"]["spec"]["containers"] = [{"image": image, "args": ["/adapter"]}]
    return only


async def test_the_adapter_may_run_in_the_manifests_of_prometheus_adapter():
    moved = with_arguments_only("prometheus-adapter")
    cluster = session(moved)
    register(cluster, CUSTOM, selector={"app": "adapter"})
    assert (await adapter_of(cluster, "")).name == "prometheus-adapter"
    beside = session(moved, deployment("adapter"))
    register(beside, CUSTOM, selector={"app": "adapter"})
    assert (await adapter_of(beside, "")).name == "loadline-adapter"


async def test_a_deployment_that_the_user_names_is_not_searched_for():
    cluster = session()
    path = "/apis/apps/v1/namespaces/monitoring/deployments/mine"
    cluster.client.serve(path, deployment("adapter", name="mine"))
    assert (await adapter_of(cluster, "monitoring/mine")).name == "mine"
    assert cluster.client.created == []
    with pytest.raises(ValueError, match="--adapter=NAMESPACE/NAME"):
        await adapter_of(cluster, "mine")


async def test_the_scaler_has_the_labels_and_a_service_account_that_may_verify_tokens():
    cluster = session(deployment("scaler"), deployment("adapter"))
    found = await scaler_of(cluster, LOAD_AUTOSCALERS, "shop", "")
    assert str(found) == "Deployment monitoring/loadline-scaler"
    assert cluster.client.requested == [
        (DEPLOYMENTS, {"labelSelector": "app.kubernetes.io/part-of=loadline"})
    ]
    [(path, review)] = cluster.client.created
    assert path == REVIEWS
    assert review["spec"]["user"] == "system:serviceaccount:monitoring:account"
    assert review["spec"]["resourceAttributes"]["resource"] == "tokenreviews"


async def test_another_deployment_with_the_labels_does_not_turn_the_search_off():
    decoy = deployment("scaler", namespace="decoy")
    cluster = session(decoy, deployment("scaler"), reviews=(REFUSED, ALLOWED))
    assert (await scaler_of(cluster, LOAD_AUTOSCALERS, "shop", "")).namespace == "monitoring"


@pytest.mark.parametrize(
    ("review", "expected"),
    [
        (REFUSED, "may not create tokenreviews"),
        (forbidden("cannot create subjectaccessreviews"), "cannot create subjectaccessreviews"),
    ],
)
async def test_otherwise_the_user_must_confirm_it(review, expected):
    cluster = session(deployment("scaler"), reviews=[review])
    with pytest.raises(Unreachable, match=expected) as refused:
        await scaler_of(cluster, LOAD_AUTOSCALERS, "shop", "")
    assert "--scaler=monitoring/loadline-scaler" in str(refused.value)


async def test_without_the_right_to_search_the_user_names_it():
    cluster = session()
    cluster.client.answers[DEPLOYMENTS] = forbidden("cannot list deployments at the cluster scope")
    with pytest.raises(Unreachable, match=r"cannot list deployments.*--scaler=NAMESPACE/NAME"):
        await scaler_of(cluster, LOAD_AUTOSCALERS, "shop", "")


async def test_of_several_scalers_the_one_is_used_that_reconciles_the_object():
    by_kind = deployment("scaler", "--watch=horizontalpodautoscalers", name="hpas")
    by_namespace = deployment("scaler", "--namespace=billing", name="billing")
    cluster = session(by_kind, by_namespace, deployment("scaler", "--namespace=shop", name="shop"))
    assert (await scaler_of(cluster, LOAD_AUTOSCALERS, "shop", "")).name == "shop"


async def test_of_several_scalers_that_suit_the_user_chooses():
    both = deployment("scaler", name="a"), deployment("scaler", name="b")
    cluster = session(*both, reviews=(ALLOWED, ALLOWED))
    with pytest.raises(Unreachable, match="choose one of monitoring/a, monitoring/b"):
        await scaler_of(cluster, LOAD_AUTOSCALERS, "shop", "")


async def test_an_hpa_of_the_built_in_controller_is_explained():
    cluster = session(deployment("scaler"))
    with pytest.raises(
        ScaledByKubernetes,
        match=r"does not reconcile HorizontalPodAutoscalers.*kube-controller-manager",
    ):
        await scaler_of(cluster, HORIZONTAL_POD_AUTOSCALERS, "shop", "")


def pod(name="p", *, owner="loadline-scaler-1a2b", kind="ReplicaSet", account="account"):
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": "u"}
    metadata = {"name": name, "labels": {"app": "scaler", "pod-template-hash": "1a2b"}}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "metadata": {**metadata, "ownerReferences": [{**reference, "controller": True}]},
        "spec": {"serviceAccountName": account},
        "status": status,
    }


async def found_pods(*pods):
    cluster = session(deployment("scaler"))
    cluster.client.serve(PODS, {"items": list(pods)})
    scaler = await scaler_of(cluster, LOAD_AUTOSCALERS, "shop", "")
    found = await pods_of(cluster, scaler)
    assert cluster.client.requested[-1] == (PODS, {"labelSelector": "app=scaler"})
    return found


IMPOSTORS = [
    pytest.param(pod("a", account="default"), id="another service account"),
    pytest.param(pod("a", owner="other-1a2b"), id="another Deployment"),
    pytest.param(pod("a", kind="Job"), id="no ReplicaSet"),
    pytest.param({**pod("a"), "metadata": {"name": "a", "labels": {"app": "scaler"}}}, id="no owner"),
]  # fmt: skip


@pytest.mark.parametrize("impostor", IMPOSTORS)
async def test_a_pod_with_the_labels_of_the_scaler_that_is_not_its_own_is_left_out(impostor):
    assert await found_pods(impostor, pod("p")) == ("p",)
    with pytest.raises(Unreachable, match="the running pods with its labels are not owned by it"):
        await found_pods(impostor)


async def test_without_a_running_pod_the_deployment_is_named():
    with pytest.raises(Unreachable, match="describe deployment loadline-scaler"):
        await found_pods()
