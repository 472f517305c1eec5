"""Which objects of a file a command uses, and in which namespace."""

import pytest
import yaml

from kubectl_loadline.cluster.manifests import UnusableManifest, read_manifest, read_objects
from kubectl_loadline.cluster.workloads import read_workload

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
HPA = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "web"},
    "spec": {"scaleTargetRef": TARGET, "maxReplicas": 9},
}
CONTAINERS = [{"name": "web", "resources": {"requests": {"cpu": "1"}}}]
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"template": {"spec": {"containers": CONTAINERS}}},
}


@pytest.fixture
def written(tmp_path):
    def write(*documents):
        file = tmp_path / "manifests.yaml"
        file.write_text(yaml.safe_dump_all(documents))
        return file

    return write


def in_namespace(document, namespace):
    return {**document, "metadata": {**document["metadata"], "namespace": namespace}}


def test_the_objects_of_a_list_are_found(written):
    """As kubectl get hpa,deployment -o yaml prints them."""
    file = written({"apiVersion": "v1", "kind": "List", "items": [HPA, DEPLOYMENT]})
    assert read_manifest(file).pod_spec.containers[0].name == "web"
    assert read_workload(file).name == "web"


def test_an_item_without_a_kind_has_that_of_its_list(written):
    """As kubectl get --raw prints them."""
    item = {name: HPA[name] for name in ("metadata", "spec")}
    of_list = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscalerList"}
    [found] = read_objects(written({**of_list, "metadata": {}, "items": [item]}))
    assert found == HPA


def test_the_objects_of_a_list_in_a_list_are_found(written):
    file = written({"kind": "List", "items": [{"kind": "List", "items": [HPA]}, DEPLOYMENT]})
    assert read_objects(file) == [HPA, DEPLOYMENT]


def test_a_few_anchors_do_not_make_a_million_objects(tmp_path):
    lists = "".join(
        f"- &l{level} {{kind: List, items: [{', '.join([f'*l{level - 1}'] * 10)}]}}\n"
        for level in range(1, 6)
    )
    file = tmp_path / "manifests.yaml"
    file.write_text(f"kind: List\nitems:\n- &l0 {{kind: Service}}\n{lists}")
    assert len(read_objects(file)) < 5_000


def test_a_list_without_items_has_none(written):
    assert read_objects(written({"kind": "List", "items": None}, {"kind": "AllowList"})) == [
        {"kind": "AllowList"}
    ]


def test_a_list_with_two_autoscalers_is_refused(written):
    with pytest.raises(UnusableManifest, match="it contains 2 HorizontalPodAutoscalers"):
        read_manifest(written({"kind": "HorizontalPodAutoscalerList", "items": [HPA, HPA]}))


def test_a_namespace_that_is_missing_is_that_of_the_flag(written):
    file = written(HPA, DEPLOYMENT)
    assert read_manifest(file, namespace="shop").autoscaler.metadata.namespace == "shop"
    assert read_workload(file, namespace="shop").namespace == "shop"
    assert read_workload(file).namespace == ""


@pytest.mark.parametrize(
    "metadata", [None, {}, {"name": None}, {"name": ""}, {"name": 5}, "web", [{"name": "web"}]]
)
def test_a_workload_without_a_name_is_refused(written, metadata):
    file = written({**DEPLOYMENT, "metadata": metadata})
    with pytest.raises(
        UnusableManifest, match=f"{file}: the Deployment has no name: set metadata.name"
    ):
        read_workload(file)


def test_a_namespace_of_the_file_stays(written):
    file = written(in_namespace(HPA, "a"), in_namespace(DEPLOYMENT, "b"))
    assert read_manifest(file, namespace="shop").autoscaler.metadata.namespace == "a"
    assert read_workload(file, namespace="shop").namespace == "b"
