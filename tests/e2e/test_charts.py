"""The charts in a real cluster: installed, upgraded and uninstalled with Helm under restricted pod security."""

from collections.abc import Iterator

import msgspec
import pytest

from testbed.cluster import Cluster
from testbed.helm import Helm, HelmFailed
from testbed.hook_pods import UNSCHEDULED, HookPods
from testbed.waiting import until

# The CRDs stay, so that uninstalling does not delete their objects; kube-apiserver creates an APIService for them.
PLURALS = ("loadautoscalers", "scalingcalendars", "clusterscalingcalendars")
KIND = {
    *(f"customresourcedefinition.apiextensions.k8s.io/{each}.loadline.io" for each in PLURALS),
    "apiservice.apiregistration.k8s.io/v1beta1.loadline.io",
}
CLUSTER_KINDS = (
    "clusterroles,clusterrolebindings,apiservices,customresourcedefinitions,"
    "validatingadmissionpolicies,validatingadmissionpolicybindings"
)
NAMESPACE_KINDS = (
    "deployments,services,configmaps,secrets,serviceaccounts,roles,rolebindings,"
    "poddisruptionbudgets,networkpolicies"
)
MADE_BY_CONTROLLERS = ("/default", "/kube-root-ca.crt")  # in every namespace, asynchronously
QUEUE = {"name": "queue_length", "query": "sum by (queue) (queue_length)"}


def inventory(cluster: Cluster, namespace: str) -> set[str]:
    """All objects that a chart could leave behind."""
    listings = [
        (CLUSTER_KINDS, "--all-namespaces"),
        (NAMESPACE_KINDS, f"--namespace={namespace}"),
        ("rolebindings", "--namespace=kube-system"),
    ]
    found = {
        name
        for kinds, where in listings
        for name in cluster.kubectl("get", kinds, where, "--output=name").split()
    }
    return {name for name in found if not name.endswith(MADE_BY_CONTROLLERS)}


@pytest.fixture
def restricted(cluster: Cluster, namespace: str) -> str:
    """A namespace in which kube-apiserver rejects pods that are not `restricted`."""
    label = "pod-security.kubernetes.io/enforce=restricted"
    cluster.kubectl("label", "namespace", namespace, label)
    return namespace


@pytest.fixture
def helm(cluster: Cluster, restricted: str) -> Iterator[Helm]:
    helm = Helm(cluster, restricted)
    yield helm
    # A failed test must not leave APIServices in the shared cluster.
    for release in helm.releases():
        helm.uninstall(release)


def deployment(cluster, namespace, name):
    return cluster.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}")


def test_the_adapter_is_installed_upgraded_and_uninstalled(cluster, helm, restricted):
    before = inventory(cluster, restricted)
    outside = {"type": "ExternalName", "externalName": "localhost", "port": 6443}
    values = {"service": outside, "tls": {"generate": True}, "replicas": 2}

    notes = helm.install("adapter", release="a", values=values)
    assert "kubectl get apiservice -l app.kubernetes.io/instance=a" in notes
    assert deployment(cluster, restricted, "a-loadline-adapter")["status"]["availableReplicas"] == 2
    certificate = cluster.kubectl(
        "get", "secret", "a-loadline-adapter-serving-cert", f"-n{restricted}", "-ojson"
    )

    widened = values | {"rules": {"metrics": [QUEUE]}, "podDisruptionBudget": {"enabled": True}}
    helm.upgrade("adapter", release="a", values=widened)
    added = inventory(cluster, restricted) - before
    assert "apiservice.apiregistration.k8s.io/v1beta1.external.metrics.k8s.io" in added
    kept = cluster.kubectl(
        "get", "secret", "a-loadline-adapter-serving-cert", f"-n{restricted}", "-ojson"
    )
    assert data(kept) == data(certificate)

    helm.uninstall("a")
    assert inventory(cluster, restricted) == before


def data(secret: str) -> dict[str, str]:
    return msgspec.json.decode(secret)["data"]


def test_the_scaler_is_installed_upgraded_and_uninstalled_except_for_its_crds(
    cluster, helm, restricted
):
    before = inventory(cluster, restricted)
    notes = helm.install("scaler", release="s")
    assert "kubectl get loadautoscalers" in notes
    assert deployment(cluster, restricted, "s-loadline-scaler")["status"]["availableReplicas"] == 1
    assert cluster.kubectl("get", "loadautoscalers", f"-n{restricted}") == ""

    helm.upgrade("scaler", release="s", values={"replicas": 2})
    scaled = deployment(cluster, restricted, "s-loadline-scaler")
    assert scaled["status"]["availableReplicas"] == 2
    assert scaled["spec"]["strategy"]["type"] == "RollingUpdate"
    helm.upgrade("scaler", release="s", values={"replicas": 1})
    assert deployment(cluster, restricted, "s-loadline-scaler")["spec"]["strategy"] == {
        "type": "Recreate"
    }

    helm.uninstall("s")
    assert inventory(cluster, restricted) == before | KIND


def test_users_of_a_namespace_may_use_its_autoscalers(cluster, helm, restricted):
    helm.install("scaler", release="s")
    for role, user in (("view", "viewer"), ("edit", "editor"), ("admin", "administrator")):
        subject = (f"--clusterrole={role}", f"--user={user}")
        cluster.kubectl("create", "rolebinding", role, f"-n{restricted}", *subject)
    answers = {
        ("viewer", "get"): True,
        ("viewer", "update"): False,
        ("editor", "update"): True,
        ("editor", "delete"): True,
        ("administrator", "deletecollection"): True,
        ("unprivileged", "get"): False,
    }

    def answered() -> bool:
        attributes = {
            "namespace": restricted,
            "group": "loadline.io",
            "resource": "loadautoscalers",
        }
        given = {
            (user, verb): may(cluster, user, attributes | {"verb": verb}) for user, verb in answers
        }
        assert given == answers
        return True

    until(answered, what="the roles to be aggregated")


def may(cluster: Cluster, user: str, attributes: dict[str, str]) -> bool:
    """Whether kube-apiserver authorizes the request."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    }
    text = cluster.kubectl("create", "-f-", "-ojson", input=msgspec.json.encode(review).decode())
    return msgspec.json.decode(text)["status"]["allowed"]


def test_an_upgrade_to_an_invalid_configuration_fails_and_changes_nothing(
    cluster, helm, restricted, tmp_path
):
    def stored() -> str:
        return cluster.kubectl(
            "get", "configmap", "a-loadline-adapter", f"-n{restricted}", "-ojsonpath={.data}"
        )

    helm.install("adapter", release="a", values=UNSCHEDULED)
    before = stored()
    invalid = {"custom": [{"seriesQuery": "up", "metricsQuery": "<<.Series"}]}
    with HookPods(cluster, restricted, tmp_path) as hooks:
        with pytest.raises(HelmFailed, match="pre-upgrade hooks failed"):
            helm.upgrade("adapter", release="a", values={**UNSCHEDULED, "rules": invalid})
        assert stored() == before
        assert "metricsQuery" in next(iter(hooks.output.values()))

        valid = {"metrics": [QUEUE]}
        helm.upgrade("adapter", release="a", values={**UNSCHEDULED, "rules": valid})
    assert "queue_length" in stored()


def test_an_existing_configuration_is_checked_before_an_upgrade_if_it_exists(
    cluster, helm, restricted, tmp_path
):
    values = {
        **UNSCHEDULED,
        "rules": {"existing": "mine"},
        "apiServices": {"custom": "never", "external": "never"},
    }
    helm.install("adapter", release="a", values=values)
    helm.upgrade("adapter", release="a", values=values | {"logLevel": 3})
    invalid = '{"rules": [{"seriesQuery": "up", "metricsQuery": "<<.Series"}]}'
    cluster.kubectl(
        "create", "configmap", "mine", f"-n{restricted}", f"--from-literal=config.yaml={invalid}"
    )
    with HookPods(cluster, restricted, tmp_path) as hooks:
        with pytest.raises(HelmFailed, match="pre-upgrade hooks failed"):
            helm.upgrade("adapter", release="a", values=values)
        assert "metricsQuery" in next(iter(hooks.output.values()))


QUOTA = "requests.cpu=8,limits.cpu=8,requests.memory=8Gi,limits.memory=8Gi"


def test_hooks_run_where_a_quota_requires_limits(cluster, helm, restricted, tmp_path):
    cluster.kubectl("create", "quota", "all", f"-n{restricted}", f"--hard={QUOTA}")
    path = f"/api/v1/namespaces/{restricted}/resourcequotas/all"
    until(lambda: cluster.get(path).get("status", {}).get("used"), what="the quota to be counted")
    limited = {"limits": {"cpu": "1", "memory": "256Mi"}}
    values = {**UNSCHEDULED, "resources": limited}
    helm.install("adapter", release="a", values=values)
    helm.install("scaler", release="s", values=values)
    with HookPods(cluster, restricted, tmp_path) as hooks:
        helm.upgrade("adapter", release="a", values=values)
        assert "Succeeded" in helm.test("s")
    assert len(hooks.output) == 2


def test_helm_test_reports_whether_the_apis_are_served(cluster, helm, restricted, tmp_path):
    helm.install("scaler", release="s", values=UNSCHEDULED)
    helm.install("adapter", release="a", values=UNSCHEDULED)
    with HookPods(cluster, restricted, tmp_path) as hooks:
        assert "Succeeded" in helm.test("s")
        # No adapter is running.
        with pytest.raises(HelmFailed):
            helm.test("a")
    assert "/apis/loadline.io/v1beta1: " in hooks.output["s-loadline-scaler-test"]
    assert "Run: kubectl get apiservice" in hooks.output["a-loadline-adapter-test"]
