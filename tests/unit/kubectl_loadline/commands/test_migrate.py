"""`kubectl loadline migrate` and `loadline-scaler migrate` on files: documents in, LoadAutoscalers on stdout, remarks on stderr."""

import io

import pytest
import yaml

from kubectl_loadline.program import main as plugin
from scaler.__main__ import main as scaler
from tests.unit.kubectl_loadline.api_server import HPAS, LAS, collection, within

HPA = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 5
"""
SCALED_OBJECT = """
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: worker, namespace: shop}
spec:
  scaleTargetRef: {name: worker}
  triggers:
    - type: prometheus
      metadata: {serverAddress: "http://p:9090", query: sum(queue), threshold: "30"}
"""
KAFKA = SCALED_OBJECT.replace("type: prometheus", "type: kafka").replace("worker", "events")
SCALED_OBJECTS = "/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"


@pytest.fixture(params=[scaler, plugin], ids=["loadline-scaler", "kubectl loadline"])
def main(request):
    """The two front ends."""
    return request.param


def written(tmp_path, *documents):
    file = tmp_path / "manifests.yaml"
    file.write_text("---\n".join(documents))
    return str(file)


def test_hpas_and_scaled_objects_are_converted_and_other_objects_left_out(tmp_path, capsys, main):
    rules = tmp_path / "rules.yaml"
    file = written(tmp_path, HPA, SERVICE, SCALED_OBJECT)
    assert main(["migrate", f"--rules={rules}", file]) == 0
    output = capsys.readouterr()
    found = list(yaml.safe_load_all(output.out))
    assert [each["metadata"]["name"] for each in found] == ["web", "worker"]
    assert {each["spec"]["mode"] for each in found} == {"DryRun"}
    assert "2 of 2 autoscalers converted; 1 other objects skipped" in output.err
    assert "which must be http://p:9090" in output.err
    assert yaml.safe_load(rules.read_text()) == {
        "metrics": [{"name": "shop_worker_0", "query": "clamp_min(sum(queue), 0)", "signal": {"onEmpty": "zero", "onNaN": "zero"}}],
    }  # fmt: skip


def test_metrics_of_several_prometheus_servers_name_their_backend(tmp_path, capsys, main):
    rules = tmp_path / "rules.yaml"
    other = SCALED_OBJECT.replace("http://p:9090", "http://q:9090").replace("worker", "other")
    assert main(["migrate", f"--rules={rules}", written(tmp_path, SCALED_OBJECT, other)]) == 0
    configuration = yaml.safe_load(rules.read_text())
    assert [each["url"] for each in configuration["backends"]] == ["http://p:9090", "http://q:9090"]
    assert [each["backend"] for each in configuration["metrics"]] == ["p", "q"]
    error = capsys.readouterr().err
    assert "Backend p is http://p:9090" in error
    assert "Backend q is http://q:9090" in error


def test_metrics_of_two_objects_with_the_same_words_in_their_names_are_two(tmp_path, main):
    rules = tmp_path / "rules.yaml"
    first = SCALED_OBJECT.replace("name: worker, namespace: shop", "name: a, namespace: shop-eu")
    second = SCALED_OBJECT.replace("name: worker, namespace: shop", "name: eu-a, namespace: shop")
    assert main(["migrate", f"--rules={rules}", written(tmp_path, first, second)]) == 0
    names = [each["name"] for each in yaml.safe_load(rules.read_text())["metrics"]]
    assert names == ["shop-eu_a_0", "shop_eu-a_0"]


CRON = """
    - type: cron
      metadata: {timezone: UTC, start: 0 8 * * *, end: 0 9 * * *, desiredReplicas: "4"}
"""


def test_what_applies_to_many_objects_alike_is_said_once(tmp_path, capsys, main):
    names = [f"worker-{number}" for number in range(7)]
    objects = [
        f"{SCALED_OBJECT.replace('worker', each)}{CRON}  minReplicaCount: 2\n" for each in names
    ]
    assert main(["migrate", written(tmp_path, *objects)]) == 0
    error = capsys.readouterr().err
    for sentence in ("a target that is at 0 is disabled", "300 s after its cron trigger"):
        [line] = [each for each in error.splitlines() if sentence in each]
        assert line.endswith(".")
        assert "ScaledObject shop/worker-0, ScaledObject shop/worker-1, " in line
        assert "ScaledObject shop/worker-4 and 2 more: spec." in line


def test_what_applies_to_one_object_names_it(tmp_path, capsys, main):
    assert main(["migrate", written(tmp_path, f"{SCALED_OBJECT}  minReplicaCount: 2\n")]) == 0
    assert "ScaledObject shop/worker: spec.minReplicaCount: " in capsys.readouterr().err


def test_the_items_of_a_list_are_converted(tmp_path, capsys, main):
    listed = yaml.safe_dump({"kind": "List", "apiVersion": "v1", "items": [yaml.safe_load(HPA)]})
    assert main(["migrate", "--enforce", written(tmp_path, listed)]) == 0
    (found,) = yaml.safe_load_all(capsys.readouterr().out)
    assert "mode" not in found["spec"]


def test_the_objects_that_an_api_server_lists_are_converted(tmp_path, capsys, main):
    item = {name: yaml.safe_load(HPA)[name] for name in ("metadata", "spec")}
    listed = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscalerList"}
    assert main(["migrate", written(tmp_path, yaml.safe_dump({**listed, "items": [item]}))]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["metadata"]["name"] == "web"


def test_only_a_list_has_items(tmp_path, capsys, main):
    """A kind of its own may be called so, too."""
    documents = "kind: AllowList\n", "kind: List\nitems:\n", HPA
    assert main(["migrate", written(tmp_path, *documents)]) == 0
    assert "1 of 1 autoscalers converted; 1 other objects skipped" in capsys.readouterr().err


def test_an_hpa_that_keda_has_created_is_skipped(tmp_path, capsys, main):
    """It would be a second LoadAutoscaler for the target of the ScaledObject."""
    hpa = yaml.safe_load(HPA)
    hpa["metadata"]["ownerReferences"] = [{"kind": "ScaledObject", "name": "worker"}]
    assert main(["migrate", written(tmp_path, yaml.safe_dump(hpa), SCALED_OBJECT)]) == 0
    output = capsys.readouterr()
    assert "KEDA creates it for a ScaledObject; skipped" in output.err
    assert len(list(yaml.safe_load_all(output.out))) == 1


def test_a_scaled_job_is_left_to_keda(tmp_path, capsys, main):
    job = "kind: ScaledJob\nmetadata: {name: job, namespace: shop}\n"
    assert main(["migrate", written(tmp_path, job, HPA)]) == 3
    assert "ScaledJob shop/job: LoadAutoscalers do not scale Jobs" in capsys.readouterr().err
    assert main(["migrate", written(tmp_path, job)]) == 3


def test_fractions_are_text_as_the_crd_demands(tmp_path, capsys, main):
    hpa = yaml.safe_load(HPA)
    hpa["spec"]["behavior"] = {"scaleDown": {"tolerance": 0.05}}
    assert main(["migrate", written(tmp_path, yaml.safe_dump(hpa))]) == 0
    found = yaml.safe_load(capsys.readouterr().out)
    assert found["spec"]["behavior"]["scaleDown"]["tolerance"] == "0.05"


def test_without_a_file_for_rules_their_number_is_reported(tmp_path, capsys, main):
    assert main(["migrate", written(tmp_path, SCALED_OBJECT)]) == 0
    assert "1 metric must be added to the adapter" in capsys.readouterr().err


def test_triggers_are_converted_to_metrics_of_the_scale_target(tmp_path, capsys, main):
    values = tmp_path / "values.yaml"
    flags = ["--as-objects", f"--values={values}"]
    assert main(["migrate", *flags, written(tmp_path, SCALED_OBJECT)]) == 0
    [metric] = yaml.safe_load(capsys.readouterr().out)["spec"]["metrics"]
    assert metric["object"]["describedObject"]["name"] == "worker"
    [rule] = yaml.safe_load(values.read_text())["rules"]["metrics"]
    assert rule["describes"] == "deployments.apps"


def test_an_object_without_counterpart_is_reported_and_the_others_are_converted(
    tmp_path, capsys, main
):
    assert main(["migrate", written(tmp_path, KAFKA, HPA)]) == 3
    output = capsys.readouterr()
    assert "ScaledObject shop/events: none of its triggers (kafka) has a counterpart" in output.err
    assert yaml.safe_load(output.out)["metadata"]["name"] == "web"


def test_an_autoscaler_without_one_of_the_triggers_is_a_finding(tmp_path, capsys, main):
    kafka = "    - {type: kafka, metadata: {topic: orders}}\n"
    file = written(tmp_path, f"{SCALED_OBJECT}{kafka}", HPA)
    assert main(["migrate", "--enforce", file]) == 3
    output = capsys.readouterr()
    modes = [each["spec"].get("mode") for each in yaml.safe_load_all(output.out)]
    assert modes == ["DryRun", None]
    assert (
        "2 of 2 autoscalers converted, 1 of them without a trigger or formula, in mode DryRun\n"
        in output.err
    )


def test_a_file_that_is_not_yaml_is_named(tmp_path, capsys, main):
    assert main(["migrate", written(tmp_path, "a: [")]) == 2
    assert "manifests.yaml" in capsys.readouterr().err


def from_stdin(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("has_file", [True, False])
def test_manifests_that_are_not_utf_8_must_be_saved_as_such(
    tmp_path, capsys, monkeypatch, main, has_file
):
    file = tmp_path / "hpa.yaml"
    file.write_text(f"# \u00e9\n{HPA}", "latin-1")
    from_stdin(monkeypatch, file.read_bytes())
    name = str(file) if has_file else "-"
    assert main(["migrate", name]) == 2
    assert f"migrate: {name}: it is not UTF-8; save it as UTF-8\n" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_manifests_may_begin_with_a_byte_order_mark(capsys, monkeypatch, main, encoding):
    """PowerShell writes UTF-16 with `>`."""
    from_stdin(monkeypatch, HPA.lstrip().encode(encoding))
    assert main(["migrate", "-"]) == 0
    assert "1 of 1 autoscalers converted" in capsys.readouterr().err


def test_the_metrics_of_triggers_are_written_as_values_of_the_chart(tmp_path, capsys, main):
    values = tmp_path / "values.yaml"
    assert main(["migrate", f"--values={values}", written(tmp_path, SCALED_OBJECT)]) == 0
    rules = yaml.safe_load(values.read_text())["rules"]
    assert [metric["name"] for metric in rules.pop("metrics")] == ["shop_worker_0"]
    assert rules == {}, "the other rules of the release stay"
    assert "values for the chart of the adapter" in capsys.readouterr().err


def test_values_cannot_express_several_prometheus_servers(tmp_path, capsys, main):
    other = SCALED_OBJECT.replace("http://p:9090", "http://q:9090").replace("worker", "other")
    file = written(tmp_path, SCALED_OBJECT, other)
    assert main(["migrate", f"--values={tmp_path / 'values.yaml'}", file]) == 2
    output = capsys.readouterr()
    assert "the chart has no value for backends" in output.err
    assert output.out == ""


@pytest.mark.parametrize(
    "content", ["{empty: }", "{days: 2024-02-30}", "text", "[rules]", "5", "{config.yaml: [a]}", ""]
)
def test_a_config_map_with_anything_in_it_is_another_object(tmp_path, capsys, main, content):
    other = f"kind: ConfigMap\ndata: {content}\n"
    assert main(["migrate", written(tmp_path, other, HPA)]) == 0
    assert "1 of 1 autoscalers converted; 1 other" in capsys.readouterr().err


def test_a_config_map_of_another_program_is_another_object(tmp_path, capsys, main):
    texts = {"application.yaml": "metrics: {enabled: true}\n", "b.yaml": "rules: [{name: a}]\n"}
    config_map = yaml.safe_dump({"kind": "ConfigMap", "data": texts})
    assert main(["migrate", written(tmp_path, HPA, config_map)]) == 0
    assert "1 of 1 autoscalers converted; 1 other objects skipped" in capsys.readouterr().err


def test_a_directory_in_place_of_a_manifest_is_named(tmp_path, capsys, main):
    assert main(["migrate", str(tmp_path)]) == 2
    expected = f"migrate: {tmp_path}: cannot be read: Is a directory\n"
    assert capsys.readouterr().err.endswith(expected)


def test_a_configuration_of_prometheus_adapter_is_not_converted_with_other_objects(
    tmp_path, capsys
):
    file = written(tmp_path, HPA, "rules: [{seriesQuery: up}]\n")
    assert plugin(["migrate", file]) == 2
    assert "cannot be converted together with other objects" in capsys.readouterr().err


@pytest.mark.parametrize("in_config_map", [False, True])
def test_rules_of_prometheus_adapter_are_not_converted_without_the_resources_of_the_cluster(
    tmp_path, capsys, monkeypatch, in_config_map
):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    (tmp_path / "kubeconfig").write_text(
        "{kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], "
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]}"
    )
    rules = "rules: [{seriesQuery: up, resources: {template: <<.Resource>>}, metricsQuery: up}]\n"
    config_map = yaml.safe_dump({"kind": "ConfigMap", "data": {"config.yaml": rules, "x": "{"}})
    file = written(tmp_path, config_map if in_config_map else rules)
    assert plugin(["migrate", file, "--prometheus-url=http://127.0.0.1:1"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "http://127.0.0.1:1" in output.err
    assert ": Connection refused" in output.err


def test_without_anything_to_compare_the_next_step_is_named(api_server, capsys):
    for kind in (HPAS, LAS):
        api_server.documents[within(kind, "shop")] = collection()
    assert plugin(["migrate", "--compare"]) == 1
    assert capsys.readouterr().err == (
        "kubectl loadline migrate: there is nothing to compare, because no LoadAutoscaler has the same target as an HPA: apply the "
        "converted LoadAutoscalers first\n"
    )


def test_a_kind_that_may_not_be_listed_is_left_out_with_a_note(api_server, capsys):
    """RBAC refuses a kind that the cluster does not have to everyone who is not an administrator."""
    api_server.documents[within(HPAS, "shop")] = collection(yaml.safe_load(HPA))
    api_server.refused.add(SCALED_OBJECTS)
    assert plugin(["migrate"]) == 0
    output = capsys.readouterr()
    assert [each["metadata"]["name"] for each in yaml.safe_load_all(output.out)] == ["web"]
    assert f"ScaledObjects are left out: cannot list {SCALED_OBJECTS}\n" in output.err


def test_the_objects_of_the_cluster_are_requested_as_json(api_server):
    """Python takes 11 ms to read an HPA from YAML."""
    api_server.documents[within(HPAS, "shop")] = collection(yaml.safe_load(HPA))
    assert plugin(["migrate"]) == 0
    (listed,) = [each for each in api_server.received() if each.path == within(HPAS, "shop")]
    assert listed.headers["Accept"] == "application/json"


@pytest.mark.parametrize("has_keda", [False, True])
def test_without_a_kind_that_may_be_listed_migrate_fails(api_server, capsys, has_keda):
    api_server.refused |= {within(HPAS, "shop"), *((SCALED_OBJECTS,) if has_keda else ())}
    assert plugin(["migrate"]) == 1
    assert f"cannot list {within(HPAS, 'shop')}" in capsys.readouterr().err


def test_a_file_with_nothing_to_convert_is_named(tmp_path, capsys, main):
    file = written(tmp_path, SERVICE)
    assert main(["migrate", file]) == 1
    error = capsys.readouterr().err
    read = "HorizontalPodAutoscaler, ScaledObject or configuration of prometheus-adapter"
    expected = read if main is plugin else "HorizontalPodAutoscaler or ScaledObject"
    assert error.endswith(f"migrate: {file} has no {expected}\n")


def test_a_name_in_place_of_a_file_gets_a_hint(capsys):
    assert plugin(["migrate", "hpa", "api"]) == 2
    assert capsys.readouterr().err == (
        "kubectl loadline migrate: hpa: no such file. migrate takes files; without any, it converts the HPAs and ScaledObjects of "
        "the namespace\n"
    )


def test_the_reason_why_two_cannot_be_compared_has_no_go_struct(api_server, capsys):
    message = (
        "unable to get external metric shop/queue/&LabelSelector{MatchLabels:map[string]string{queue: mail,},"
        "MatchExpressions:[]LabelSelectorRequirement{},}: no metrics"
    )
    failed = {"type": "ScalingActive", "status": "False", "reason": "F", "message": message}
    both = {
        **yaml.safe_load(HPA),
        "status": {"conditions": [failed], "currentReplicas": 1, "desiredReplicas": 0},
    }
    for kind in (HPAS, LAS):
        api_server.documents[within(kind, "shop")] = collection(both)
    assert plugin(["migrate", "--compare"]) == 3
    assert 'external metric shop/queue{queue="mail"}: no metrics' in capsys.readouterr().out


def test_remarks_on_a_terminal_are_broken_at_its_width(tmp_path, capsys, monkeypatch, main):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["migrate", written(tmp_path, SCALED_OBJECT)]) == 0
    error = capsys.readouterr().err
    assert max(map(len, error.splitlines())) <= 60
    assert "run the command again with --values=FILE for its chart" in " ".join(error.split())


def test_a_name_that_kubectl_reads_as_a_number_is_in_quotes(tmp_path, capsys, main):
    hpa = HPA.replace("name: web, namespace", "name: '1e3', namespace")
    assert main(["migrate", written(tmp_path, hpa)]) == 0
    assert "name: '1e3'\n" in capsys.readouterr().out


def test_objects_without_a_namespace_get_that_of_the_flag(tmp_path, capsys, main):
    other = HPA.replace("name: web, namespace: shop", "name: other")
    file = written(tmp_path, HPA, other)
    assert main(["migrate", file, "--namespace=eu"]) == 0
    found = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [each["metadata"]["namespace"] for each in found] == ["shop", "eu"]


@pytest.mark.parametrize("wrong", ["triggers: [prometheus]", "scaleTargetRef: a", "metadata: a"])
def test_the_others_are_converted_beside_an_object_with_text_in_place_of_a_mapping(
    tmp_path, capsys, main, wrong
):
    kinds = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n"
    broken = f"{kinds}{wrong}\n" if "metadata" in wrong else f"{kinds}spec: {{{wrong}}}\n"
    assert main(["migrate", written(tmp_path, broken, HPA)]) == 3
    output = capsys.readouterr()
    assert "ScaledObject : Expected `object" in output.err
    assert "got `str` - at `" in output.err
    assert yaml.safe_load(output.out)["metadata"]["name"] == "web"
