"""A proposal is the cheapest within the goal, made without the time that judges it."""

import math
import re
from pathlib import Path

import msgspec
import pytest
import yaml

from adapter.commands import check
from kubectl_loadline.backtest.comparison import Range, Scenario
from kubectl_loadline.backtest.metric_models import ModelOptions, models_of
from kubectl_loadline.backtest.recording import Recording
from kubectl_loadline.backtest.series import Series
from kubectl_loadline.cluster.workloads import workload_of
from kubectl_loadline.commands.suggest.command import main
from kubectl_loadline.recorded_series.files import read_csv
from kubectl_loadline.suggest.knee import full_load
from kubectl_loadline.suggest.proposal import (
    FAST_UP,
    Choices,
    Workload,
    autoscaler_of,
    manifest_of,
    quantity_of,
)
from kubectl_loadline.suggest.search import SHARES, Problem, bounds, searched
from kubectl_loadline.suggest.series_choice import judged
from scaler.api.autoscaler import Autoscaler
from tests.unit.scaler.objects import autoscaler, average, named, of_pods, spec
from wire.process import go_yaml

CRD = Path(__file__).parents[4] / "charts" / "scaler" / "files" / "crds" / "loadautoscalers.yaml"
START = 1_000_020
MINUTES = 360
WORKLOAD = Workload(namespace="shop", name="web", kind="Deployment", api_version="apps/v1", lead_seconds=240)  # fmt: skip


def series(values, step_seconds=60):
    return Series(start_unix_seconds=START, step_seconds=step_seconds, values=tuple(values))


def waves(minutes=MINUTES):
    return [500 + 400 * math.sin(minute / 15) for minute in range(minutes)]


def problem(loads, *, goal=0.5):
    recording = Recording(
        step_seconds=60,
        series={"requests": series(loads), "replicas": series([12] * len(loads))},
    )
    present = autoscaler(spec(named(of_pods(average("70")), "requests")))
    whole = Range(
        start_unix_seconds=START,
        end_unix_seconds=START + 60 * len(loads),
        step_seconds=60,
        scored_from_unix_seconds=START,
    )
    models = models_of(present, recording, ModelOptions(capacities={"requests": 90.0}))
    return Problem(
        scenario=Scenario(recording=recording, models=models, range=whole),
        workload=WORKLOAD,
        start_up_seconds=60,
        full={"requests": 100.0},
        short_percent_max=goal,
    )


def test_the_cheapest_choices_within_the_goal_come_first():
    found = searched(problem(waves(), goal=2), lambda _: None)
    for step in found.steps:
        best, *others = step.tried
        for other in others:
            within = other.score.under_timeshare <= 2
            assert best.score.under_timeshare <= max(2, other.score.under_timeshare)
            assert not within or best.score.replica_hours <= other.score.replica_hours
    assert len(found.steps[0].tried) == len(SHARES)
    assert found.runner_up.choices != found.choices


def test_the_choices_do_not_depend_on_the_last_third():
    loads = waves()
    corrupted = [
        *loads[: MINUTES * 2 // 3 + 2],
        *(300 + 100 * (minute % 5) for minute in range(MINUTES // 3 - 2)),
    ]
    found = [searched(problem(each), lambda _: None) for each in (loads, corrupted)]
    assert found[0].choices == found[1].choices
    assert found[0].score != found[1].score


def test_a_stricter_goal_costs_more():
    strict, loose = (searched(problem(waves(), goal=goal), lambda _: None) for goal in (0.0, 20.0))
    assert strict.score.replica_hours > loose.score.replica_hours


def test_the_bounds_are_the_quiet_demand_and_half_more_than_the_largest():
    """900 at most, and 90 per replica: 10, and 12 were recorded; 100 at least: 2."""
    assert bounds(problem(waves())) == (2, 15)


@pytest.mark.parametrize(
    ("amount", "text"), [(0.3567, "356m"), (37.19, "37100m"), (1250.9, "1250"), (50, "50"), (0.0001, "1m")]
)  # fmt: skip
def test_a_quantity_has_three_digits_and_is_never_rounded_up(amount, text):
    assert quantity_of(amount) == text


def test_all_choices_are_in_the_manifest():
    choices = Choices(
        metric="requests", share=0.7, target=70, min_replicas=2, max_replicas=9, tolerance=0.0,
        scale_down_window_seconds=600, scale_up=FAST_UP, forecast=True,
    )  # fmt: skip
    manifest = go_yaml.load(yaml.safe_dump(manifest_of(choices, WORKLOAD)))
    assert msgspec.convert(manifest, Autoscaler) == autoscaler_of(choices, WORKLOAD)
    assert manifest["spec"]["mode"] == "DryRun"
    assert manifest["spec"]["forecast"] == {"metric": "requests", "mode": "Add", "leadSeconds": 240}
    assert manifest["spec"]["behavior"] == {
        "scaleUp": {"policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}], "tolerance": "0"},
        "scaleDown": {"stabilizationWindowSeconds": 600, "tolerance": "0"},
    }  # fmt: skip


def test_series_that_are_flat_idle_or_unrelated_are_rejected_with_the_reason():
    load = waves()
    found = judged(
        {
            "cpu": series([0.01 * each for each in load]),
            "requests": series(load),
            "flat": series([100 + minute % 3 for minute in range(MINUTES)]),
            "idle": series([0.0] * MINUTES),
            "unrelated": series([minute // 60 * 10 + 1 for minute in range(MINUTES)]),
        }
    )
    assert [each.name for each in found][:2] == ["requests", "cpu"]
    reasons = {each.name: each.rejected for each in found}
    assert "it is flat" in reasons["flat"]
    assert reasons["idle"] == "it is always 0"
    assert "its correlation with their CPU usage" in reasons["unrelated"]


def test_a_short_history_is_judged_by_its_twelfths():
    minutes = range(24)
    (found,) = judged({"requests": series([100 + 100 * (minute // 8) for minute in minutes])})
    assert found.rejected == ""
    (found,) = judged({"requests": series([100 + minute for minute in minutes])})
    assert "it is flat" in found.rejected


def test_a_full_replica_has_the_95th_percentile_of_the_recorded_load():
    recording = Recording(
        step_seconds=60, series={"load": series(range(1, 101)), "ready_replicas": series([2] * 100)}
    )
    times = range(START, START + 6000, 60)
    assert full_load(recording, "load", times) == 48
    with pytest.raises(ValueError, match="--query ready_replicas=PROMQL"):
        full_load(Recording(step_seconds=60, series={"load": series([1])}), "load", times)


@pytest.mark.parametrize("metric", ["http_requests_per_second", "cpu", "Bytes:in__", "a" * 100])
def test_the_names_in_the_manifest_fit_the_crd(metric):
    (version,) = go_yaml.load(CRD.read_text())["spec"]["versions"]
    spec_schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    name = spec_schema["metrics"]["items"]["properties"]["name"]
    choices = Choices(
        metric=metric, share=1, target=1, min_replicas=2, max_replicas=9, forecast=True
    )
    manifest = manifest_of(choices, WORKLOAD)["spec"]
    used = manifest["metrics"][0]["name"]
    assert re.fullmatch(name["pattern"], used)
    assert len(used) <= name["maxLength"]
    assert manifest["forecast"]["metric"] == used


@pytest.fixture
def files(tmp_path):
    (tmp_path / "web.yaml").write_text(
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}"
    )
    rows = [f"{START + 60 * minute},{load},6" for minute, load in enumerate(waves(150))]
    (tmp_path / "web.csv").write_text("\n".join(["time,requests_per_second,ready_replicas", *rows]))
    return tmp_path


def test_the_manifest_and_the_rules_are_accepted(files, capsys):
    arguments = [
        f"--workload={files / 'web.yaml'}",
        f"--history={files / 'web.csv'}",
        f"--rules={files / 'rules.yaml'}",
    ]
    assert main([*arguments, "--short=2"]) == 0
    text = capsys.readouterr().out
    manifest = go_yaml.load(text)
    assert manifest["kind"] == "LoadAutoscaler"
    assert manifest["spec"]["scaleTargetRef"] == {
        "kind": "Deployment",
        "name": "web",
        "apiVersion": "apps/v1",
    }
    assert "# Runner-up: requests_per_second" in text
    assert "# On the last third, which was not used for the choices: short for" in text
    assert check.main([str(files / "rules.yaml")]) == 0
    assert "1 rule" in capsys.readouterr().out


def test_a_workload_is_written_as_for_kubectl():
    assert workload_of("sts/db", "shop").kind == "StatefulSet"
    with pytest.raises(ValueError, match="'web' is not a workload: write deployment/NAME"):
        workload_of("web", "shop")


def test_the_history_is_saved_also_if_nothing_can_be_proposed_from_it(files):
    rows = [f"{60 * minute},5,2" for minute in range(1, 100)]
    history, saved = files / "web.csv", files / "saved.csv"
    history.write_text("\n".join(["time,requests,replicas", *rows]))
    arguments = [f"--workload={files / 'web.yaml'}", f"--history={history}"]
    assert main([*arguments, f"--save-history={saved}"]) == 3
    assert read_csv(saved) == read_csv(history)


def test_without_a_usable_series_nothing_is_proposed(files, capsys):
    (files / "web.csv").write_text(
        "\n".join(["time,requests,replicas", *(f"{60 * m},5,2" for m in range(100))])
    )
    assert main([f"--workload={files / 'web.yaml'}", f"--history={files / 'web.csv'}"]) == 3
    assert "no series of web can be scaled on: requests: it is flat" in capsys.readouterr().err


def suggested(files, capsys, *arguments):
    code = main([f"--workload={files / 'web.yaml'}", f"--history={files / 'web.csv'}", *arguments])
    return code, capsys.readouterr()


def test_a_start_up_time_is_an_assumption_unless_it_is_given(files, capsys):
    _, assumed = suggested(files, capsys)
    assert "; pods are assumed to need 60 s to become ready (--start-up).\n" in assumed.out
    _, known = suggested(files, capsys, "--start-up=45s")
    assert "; pods need 45 s to become ready.\n" in known.out


def test_a_history_that_is_too_short_is_described_by_its_duration(files, capsys):
    code, output = suggested(files, capsys, "--since=13m")
    assert code == 3
    assert "the history covers only 13 min; at least 1 h (60 steps of 60 s) is needed" in output.err


def test_comments_on_a_terminal_are_broken_at_its_width_and_the_manifest_is_not(
    files, capsys, monkeypatch
):
    _, piped = suggested(files, capsys)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    _, shown = suggested(files, capsys)
    comments = [line for line in shown.out.splitlines() if line.startswith("#")]
    assert max(map(len, comments)) <= 60
    assert go_yaml.load(shown.out) == go_yaml.load(piped.out)


def test_a_workload_without_a_namespace_gets_that_of_the_context(files, capsys, monkeypatch):
    (files / "web.yaml").write_text("{kind: Deployment, metadata: {name: web}}")
    (files / "kubeconfig").write_text(
        "{current-context: a, contexts: [{name: a, context: {cluster: c, namespace: mail}}]}"
    )
    monkeypatch.setenv("KUBECONFIG", str(files / "kubeconfig"))
    _, printed = suggested(files, capsys, "--short=2")
    assert go_yaml.load(printed.out)["metadata"]["namespace"] == "mail"
    _, printed = suggested(files, capsys, "--short=2", "--namespace=eu")
    assert go_yaml.load(printed.out)["metadata"]["namespace"] == "eu"


def test_nothing_is_proposed_for_a_workload_without_a_name(files, capsys):
    (files / "web.yaml").write_text("{kind: Deployment}")
    code, printed = suggested(files, capsys)
    assert (code, printed.out) == (2, "")
    assert printed.err.startswith("kubectl loadline suggest: ")
    assert "the Deployment has no name" in printed.err
