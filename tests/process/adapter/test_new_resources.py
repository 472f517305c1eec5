"""A CustomResourceDefinition that is created while the adapter runs is served without a restart, in either scope."""

import pytest

from testbed.waiting import until
from tests.process.adapter.conftest import AdapterClient

CONFIGURATION = """
rules:
- seriesQuery: 'horns{SCOPED KIND!=""}'
  resources: {overrides: {namespace: {resource: namespace}, KIND: {group: example.com, resource: KIND}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: KINDs.example.com}
spec:
  group: example.com
  names: {plural: KINDs, singular: KIND, kind: Title}
  scope: SCOPE
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


@pytest.mark.deviation("new-resources")
@pytest.mark.parametrize(
    ("kind", "scope"), [pytest.param("unicorn", "Namespaced"), pytest.param("narwhal", "Cluster")]
)
def test_a_resource_that_is_created_later_has_its_metrics(
    quick_adapter, cluster, prometheus, exporter, token, config, namespace, kind, scope
):
    scoped = 'namespace!="",' if scope == "Namespaced" else ""
    config.write_text(CONFIGURATION.replace("SCOPED ", scoped).replace("KIND", kind))
    labels = {"namespace": namespace} if scoped else {}
    exporter.set("horns", 1, **{kind: "amalthea"}, **labels)
    prometheus.wait_for(f'horns{{{kind}="amalthea"}}')
    client = AdapterClient(quick_adapter(prometheus.url), token)
    where = f"namespaces/{namespace}/" if scoped else ""
    path = f"/apis/custom.metrics.k8s.io/v1beta2/{where}{kind}s.example.com/amalthea/horns"
    assert client.get(path)[0] == 404

    written = DEFINITION.replace("KIND", kind).replace("SCOPE", scope)
    cluster.apply_crd(written.replace("Title", kind.title()))
    try:

        def served() -> bool:
            code, document = client.get(path)
            assert code == 200, document
            assert [item["value"] for item in document["items"]] == ["1"]
            described = document["items"][0]["describedObject"]
            assert (described["kind"], described["name"]) == (kind.title(), "amalthea")
            return True

        until(served, what=f"the metric of a {kind}", deadline_seconds=60)
        assert len(client.get("/apis/custom.metrics.k8s.io/v1beta1")[1]["resources"]) >= 1
    finally:
        cluster.kubectl("delete", "crd", f"{kind}s.example.com", "--wait=false")
        exporter.remove("horns")
