"""The examples for OpenShift, Argo CD, Flux and Kustomize fit the charts. tests/e2e applies what they render."""

import pytest

from adapter.commands import check
from tests.unit.charts.conftest import ROOT, Chart
from wire.process import go_yaml

EXAMPLES = ROOT / "charts" / "examples"


def documents(path):
    return list(go_yaml.load_all((EXAMPLES / path).read_text()))


def releases():
    """Chart, version, release and values of every release in the examples."""
    for each in documents("argo-cd.yaml"):
        source = each["spec"]["source"]
        helm = source["helm"]
        yield source["chart"], source["targetRevision"], helm["releaseName"], helm["valuesObject"]
    for each in documents("flux.yaml"):
        if each["kind"] == "HelmRelease":
            spec = each["spec"]["chart"]["spec"]
            yield spec["chart"], spec["version"], each["metadata"]["name"], each["spec"]["values"]
    (kustomization,) = documents("kustomize/kustomization.yaml")
    for each in kustomization["helmCharts"]:
        yield each["name"], each["version"], each["releaseName"], each["valuesInline"]


@pytest.mark.parametrize(("name", "version", "release", "values"), [*releases()])
def test_a_release_of_an_example_is_rendered_by_the_chart_of_its_version(
    name, version, release, values
):
    chart = Chart(name.removeprefix("loadline-"))
    about = go_yaml.load((chart.path / "Chart.yaml").read_text())
    assert (about["name"], about["version"]) == (name, version)
    rendered = chart.render(values, release=release)
    assert rendered.one("Deployment")["metadata"]["name"] == name


@pytest.mark.parametrize("path", ["argo-cd.yaml", "flux.yaml"])
def test_the_rules_of_an_example_are_valid(path, capsys):
    assert check.main(["--strict", str(EXAMPLES / path)]) == 0, capsys.readouterr().err


def test_on_openshift_no_pod_sets_a_user_or_a_group(chart):
    (values,) = documents("openshift-values.yaml")
    rendered = chart.render(values)
    pods = [rendered.pod] + [
        hook["spec"]["template"]["spec"] if hook["kind"] == "Job" else hook["spec"]
        for hook in rendered.hooks
        if hook["kind"] != "ConfigMap"
    ]
    assert len(pods) > 1
    for pod in pods:
        contexts = [pod["securityContext"]] + [
            each["securityContext"] for each in pod["containers"]
        ]
        for context in contexts:
            assert not {"runAsUser", "runAsGroup", "fsGroup"} & set(context)
            assert context["runAsNonRoot"] is True
            assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_kustomize_moves_no_object_into_another_namespace():
    (kustomization,) = documents("kustomize/kustomization.yaml")
    assert "namespace" not in kustomization
    assert all(each["skipHooks"] for each in kustomization["helmCharts"])
