"""The programs are found by their labels, and only a Deployment that may verify tokens receives the user's credentials."""

import json

import pytest

from kubectl_loadline.cluster.connecting import Session, Unreachable
from kubectl_loadline.cluster.programs import REVIEWS, adapter_of, pods_of, scaler_of
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.fakes.scaler import FakeKube
from wire.api.status import forbidden

DEPLOYMENTS = "/apis/apps/v1/deployments"
PODS = "/api/v1/namespaces/monitoring/pods"
ALLOWED = b'{"status": {"allowed": true}}'


def deployment(program="scaler", *args, name="", namespace="monitoring"):
    container = {"command": [f"loadline-{program}"], "args": list(args)}
    pod = {"containers": [container], "serviceAccountName": "account"}
    return {
        "metadata": {"name": name or f"loadline-{program}", "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": program}}, "template": {"spec": pod}},
    }


def session(*deployments, review=ALLOWED):
    kube = FakeKube()
    kube.serve(DEPLOYMENTS, {"items": list(deployments)})
    kube.create_answers = [review]
    return Session(connection=None, client=kube, namespace="shop")


async def test_the_only_deployment_with_the_labels_is_found():
    cluster = session(deployment("adapter"), deployment("scaler"))
    assert str(await adapter_of(cluster, "")) == "Deployment monitoring/loadline-adapter"
    assert cluster.client.requested == [
        (DEPLOYMENTS, {"labelSelector": "app.kubernetes.io/part-of=loadline"})
    ]


async def test_its_service_account_must_be_allowed_to_verify_tokens():
    cluster = session(deployment("adapter"))
    await adapter_of(cluster, "")
    [(path, review)] = cluster.client.created
    assert path == REVIEWS
    assert review["spec"]["user"] == "system:serviceaccount:monitoring:account"
    assert review["spec"]["resourceAttributes"]["resource"] == "tokenreviews"


@pytest.mark.parametrize(
    ("review", "expected"),
    [
        (b'{"status": {"allowed": false}}', "may not create tokenreviews"),
        (forbidden("cannot create subjectaccessreviews"), "cannot create subjectaccessreviews"),
    ],
)
async def test_otherwise_the_user_must_confirm_it(review, expected):
    cluster = session(deployment("adapter"), review=review)
    with pytest.raises(Unreachable, match=expected) as refused:
        await adapter_of(cluster, "")
    assert "--adapter=monitoring/loadline-adapter" in str(refused.value)


async def test_a_deployment_that_the_user_names_is_not_searched_for():
    cluster = session()
    path = "/apis/apps/v1/namespaces/monitoring/deployments/mine"
    cluster.client.serve(path, deployment("adapter", name="mine"))
    assert (await adapter_of(cluster, "monitoring/mine")).name == "mine"
    assert cluster.client.created == []
    with pytest.raises(ValueError, match="--adapter=NAMESPACE/NAME"):
        await adapter_of(cluster, "mine")


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


async def test_an_hpa_of_the_built_in_controller_is_explained():
    cluster = session(deployment("scaler"))
    with pytest.raises(
        Unreachable, match=r"does not reconcile HorizontalPodAutoscalers.*kube-controller-manager"
    ):
        await scaler_of(cluster, HORIZONTAL_POD_AUTOSCALERS, "shop", "")


async def test_of_several_that_suit_the_user_chooses():
    cluster = session(deployment("adapter", name="a"), deployment("adapter", name="b"))
    with pytest.raises(Unreachable, match="choose one of monitoring/a, monitoring/b"):
        await adapter_of(cluster, "")


async def test_the_pods_are_those_of_the_selector():
    cluster = session(deployment("adapter"))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    cluster.client.serve(PODS, {"items": [{"metadata": {"name": "p"}, "status": status}]})
    adapter = await adapter_of(cluster, "")
    assert await pods_of(cluster, adapter) == ("p",)
    assert cluster.client.requested[-1] == (PODS, {"labelSelector": "app=adapter"})


async def test_without_a_running_pod_the_deployment_is_named():
    cluster = session(deployment("adapter"))
    cluster.client.answers[PODS] = json.dumps({"items": []}).encode()
    adapter = await adapter_of(cluster, "")
    with pytest.raises(Unreachable, match="describe deployment loadline-adapter"):
        await pods_of(cluster, adapter)
