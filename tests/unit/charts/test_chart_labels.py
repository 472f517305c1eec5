"""Labels of both charts: those of the user, and those that selectors need, each once."""

import yaml

from tests.unit.charts.test_both_charts import EVERYTHING


class WithoutDuplicates(yaml.SafeLoader):
    """Helm and kubectl reject a mapping in which a key occurs twice, or take one of them."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"{node.start_mark}: {keys}"
        return super().construct_mapping(node, deep)


RESERVED = {
    "app.kubernetes.io/name": "mine",
    "app.kubernetes.io/instance": "mine",
    "app.kubernetes.io/managed-by": "mine",
    "app.kubernetes.io/part-of": "mine",
    "app.kubernetes.io/version": "mine",
    "helm.sh/chart": "mine",
    "team": "mine",
}


def test_a_label_of_the_user_replaces_that_of_the_chart_except_where_selectors_need_it(chart):
    labelled = {"labels": RESERVED}
    values = {
        **EVERYTHING,
        "customLabels": RESERVED,
        "podLabels": RESERVED,
        "customAnnotations": {"kubernetes.io/service-account.name": "mine", "team": "a"},
        "podAnnotations": {"team": "b"},
        "hookPods": labelled,
        "rules": {"resource": {"window": "5m"}},
    }
    for name in ("serviceMonitor", "prometheusRule", "grafanaDashboard"):
        values[name] = {**EVERYTHING[name], **labelled}
    if chart.path.name == "scaler":
        del values["rules"]
    rendered = chart.render(values)
    for _ in yaml.load_all(rendered.text, Loader=WithoutDuplicates):
        pass
    plain = chart.render()
    selector = plain.one("Deployment")["spec"]["selector"]["matchLabels"]
    deployment = rendered.one("Deployment")
    assert deployment["spec"]["selector"]["matchLabels"] == selector
    for labels in (
        deployment["metadata"]["labels"],
        deployment["spec"]["template"]["metadata"]["labels"],
        rendered.one("ServiceMonitor")["metadata"]["labels"],
    ):
        assert labels == {**RESERVED, **selector, "app.kubernetes.io/managed-by": "Helm"}
    secret = rendered.one("Secret", "-scraper")["metadata"]
    assert secret["annotations"]["kubernetes.io/service-account.name"] == secret["name"]
    for hook in rendered.hooks:
        template = hook["spec"]["template"] if hook["kind"] == "Job" else hook
        if hook["kind"] != "ConfigMap":
            assert template["metadata"]["labels"]["team"] == "mine"
            assert not selector.items() <= template["metadata"]["labels"].items()


def test_a_release_may_have_a_number_as_its_name(chart):
    rendered = chart.render(release="123")
    for manifest in rendered.manifests + rendered.hooks:
        labels = manifest["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == "123", manifest["kind"]
