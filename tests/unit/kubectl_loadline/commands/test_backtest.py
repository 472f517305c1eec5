"""`kubectl loadline backtest` on files: what is printed, written and refused."""

import argparse
import csv
import json
import math

import msgspec
import pytest

from kubectl_loadline.cluster.manifests import UnusableManifest, read_manifest
from kubectl_loadline.commands.backtest.command import Inputs, main, parser, request_of
from kubectl_loadline.libraries import MissingLibrary, require
from kubectl_loadline.recorded_series.files import read_csv
from kubectl_loadline.recorded_series.flags import seconds, start_up
from kubectl_loadline.recorded_series.found import RecordedSeries
from kubectl_loadline.recorded_series.of_metrics import (
    Explained,
    ExplainedObjects,
    ExplainedQuery,
    ExplainedRow,
    metric_queries,
    span_of,
)
from kubectl_loadline.recorded_series.prometheus import SeriesUnavailable
from kubectl_loadline.recorded_series.sample_reads import recording_of
from scaler.algorithm.derivation import Derivation
from tests.unit.scaler.extensions.formula.test_metric import formula
from tests.unit.scaler.objects import autoscaler, average, external, named, of_pods, resource, spec

START = 1_795_305_600
HPA = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 20
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {template: {spec: {containers: [{name: web, resources: {requests: {cpu: "1"}}}]}}}
"""


@pytest.fixture
def files(tmp_path):
    """An HPA with its Deployment, and two hours of its CPU usage, with 4 replicas all the time."""
    (tmp_path / "web.yaml").write_text(HPA)
    with (tmp_path / "web.csv").open("w") as lines:
        writer = csv.writer(lines)
        writer.writerow(["time", "cpu", "replicas"])
        for minute in range(120):
            writer.writerow([START + 60 * minute, 2 + math.sin(minute / 20), 4])
    return tmp_path


def backtest(files, *arguments):
    return main(
        [f"--autoscaler={files / 'web.yaml'}", f"--history={files / 'web.csv'}", *arguments]
    )


def test_a_low_fidelity_is_a_warning_on_every_result(files, capsys):
    """There were always 4 replicas, although the load varies."""
    assert backtest(files, "-o", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["fidelity"]["withinOnePercent"] < 90
    assert {each["warning"] for each in report["results"]} == {"low fidelity"}
    assert backtest(files) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[2].startswith("WARNING: The replay of the current spec is within one replica")
    assert sum(line.endswith("low fidelity") for line in text) == 3


def test_the_price_is_that_of_the_replica_hours(files, capsys):
    assert backtest(files, "--price=0.5") == 0
    (row,) = [
        line.split()
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("recorded ")
    ]
    # 4 replicas in 119 minutes: the load of the last one is not known yet. After the cost comes the warning.
    assert row[-3] == f"{4 * 119 / 60 * 0.5:.2f}"


def test_the_capacity_of_a_replica_decides_how_much_of_the_load_is_served(files, capsys):
    """Of the 2 CPUs that are used on average, 4 replicas of 0.1 CPU serve a fifth."""
    unserved = []
    for capacity in ("10", "100m"):
        assert backtest(files, f"--capacity=cpu={capacity}", "-o", "json") == 0
        recorded, *_ = json.loads(capsys.readouterr().out)["results"]
        unserved.append(recorded["score"]["unserved"])
    assert unserved == [0, pytest.approx(80, abs=1)]


def test_every_decision_is_written_in_the_form_of_why(files, capsys):
    assert backtest(files, f"--decisions={files / 'decisions.jsonl'}") == 0
    lines = (files / "decisions.jsonl").read_bytes().splitlines()
    assert len(lines) == 120
    first = msgspec.json.decode(lines[0])
    assert (first["policy"], first["startUpSeconds"]) == ("current spec", 60)
    assert msgspec.convert(first["decision"], Derivation).branch == "Metrics"
    capsys.readouterr()


def test_both_start_up_times_are_replayed(files, capsys):
    assert backtest(files, "--start-up=30s,5m", "-o", "json") == 0
    results = json.loads(capsys.readouterr().out)["results"]
    present = [each["startUpSeconds"] for each in results if each["policy"] == "current spec"]
    assert present == [30, 300]


def test_the_page_needs_no_other_file(files, capsys):
    pytest.importorskip("matplotlib")
    assert (
        backtest(files, f"--html={files / 'new' / 'page.html'}", f"--plots={files / 'plots'}") == 0
    )
    page = (files / "new" / "page.html").read_text()
    assert page.count("data:image/png;base64,") == 3
    assert "http" not in page.replace("data:image", "").split("<img")[0]
    assert sorted(each.name for each in (files / "plots").iterdir()) == [
        "frontier.png",
        "load.png",
        "replicas.png",
    ]
    capsys.readouterr()


def test_missing_directories_of_results_are_created(files, capsys):
    new = files / "a" / "b"
    flags = f"--decisions={new / 'decisions'}", f"--save-history={files / 'c' / 'history.csv'}"
    assert backtest(files, *flags) == 0
    assert (new / "decisions").exists()
    assert read_csv(files / "c" / "history.csv").keys() == {"cpu", "replicas"}
    capsys.readouterr()


@pytest.mark.parametrize(
    ("flag", "named"),
    [
        ("--decisions=web.csv/a", "web.csv/a"),
        ("--save-history=web.csv/a", "web.csv/a"),
        ("--html=web.csv/a", "web.csv/a"),
        ("--plots=web.csv", "web.csv/load.png"),
    ],
)
def test_results_below_a_file_are_a_wrong_flag(files, capsys, monkeypatch, flag, named):
    if flag.startswith(("--html", "--plots")):
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(files)
    assert backtest(files, flag) == 2
    assert f"backtest: {named} cannot be written: Not a directory\n" in capsys.readouterr().err


def test_decisions_on_a_full_disk_are_a_wrong_flag(files, capsys):
    assert backtest(files, "--decisions=/dev/full") == 2
    assert "/dev/full cannot be written: No space left on device\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--candidate=nowhere.yaml",), "nowhere.yaml: no such file", id="candidate"),
        pytest.param(("--history=nowhere.csv",), "nowhere.csv: no such file", id="history"),
        pytest.param(("--history=cpu=nowhere.json",), "nowhere.json: no such file", id="response"),
        pytest.param(
            ("--since=3m",),
            "the history covers only 3 min; at least 10 min (10 steps of 60 s) is needed",
            id="too short",
        ),
        pytest.param(
            ("--kind=cup=load",), "no metric has the name 'cup': use one of cpu", id="kind"
        ),
        pytest.param(("--learn=3d",), "ends before the forecast has learned", id="learning"),
    ],
)
def test_what_cannot_be_compared_exits_with_2(files, capsys, arguments, message):
    assert backtest(files, *arguments) == 2
    assert message in capsys.readouterr().err


def test_a_history_without_the_metric_names_its_series(files, capsys):
    (files / "web.csv").write_text("time,requests,latency\n1795305600,1,2\n1795306600,1,2\n")
    assert backtest(files) == 2
    assert "there is no recorded series for cpu" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [(), ("web", "--autoscaler=web.yaml")])
def test_the_autoscaler_is_either_a_name_or_a_file(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "either the NAME of an autoscaler, or its manifest" in capsys.readouterr().err


def test_a_step_is_at_most_a_minute(files, capsys):
    with pytest.raises(SystemExit):
        backtest(files, "--step=5m")
    assert "'5m' is longer than 60 s" in capsys.readouterr().err


def test_a_wrong_header_is_not_printed_because_it_may_be_a_secret(files, capsys):
    with pytest.raises(SystemExit):
        backtest(files, "--prometheus-header=s3cret")
    error = capsys.readouterr().err
    assert "--prometheus-header" in error
    assert "s3cret" not in error


def test_a_header_that_the_client_sets_itself_is_refused(files, capsys):
    with pytest.raises(SystemExit):
        backtest(files, "--prometheus-header=Host=s3cret")
    error = capsys.readouterr().err
    assert "Host is set by the client for each request" in error
    assert "s3cret" not in error


def test_durations_have_days():
    assert (seconds("14d"), seconds("1h30m"), seconds("1.5h")) == (1_209_600, 5_400, 5_400)
    assert start_up("45s,2m") == start_up("45s,120s")


def test_a_manifest_has_one_autoscaler(tmp_path):
    file = tmp_path / "two.yaml"
    file.write_text(f"{HPA}---{HPA}")
    with pytest.raises(UnusableManifest, match="it contains 2 HorizontalPodAutoscalers"):
        read_manifest(file)
    file.write_text("[1, 2")
    with pytest.raises(UnusableManifest, match=r"two\.yaml"):
        read_manifest(file)


def test_the_queries_of_the_adapter_are_used_where_none_is_given():
    of = autoscaler(spec(of_pods(average("1"), name="requests")))
    query = ExplainedQuery("sum by (pod) (rate(x[1m]))", (ExplainedRow({"pod": "web-1-abcde"}),))
    explained = [Explained((query,), ExplainedObjects(("web-1-abcde",)))]
    assert metric_queries(of, {}, explained)["requests"].promql == query.query
    assert metric_queries(of, {"requests": "mine"}, explained)["requests"].promql == "mine"
    with pytest.raises(ValueError, match="give it with --query requests=PROMQL"):
        metric_queries(of, {}, ())


def test_a_metric_of_a_candidate_that_is_known_needs_no_query_of_its_own():
    of = autoscaler(spec(named(of_pods(average("1"), name="requests"), "load")))
    assert metric_queries(of, {}, (), known={"requests": None}) == {}


def test_a_metric_that_cannot_be_replayed_needs_no_query():
    of = autoscaler(spec(resource(average("1Gi"), name="memory"), resource(average("1"))))
    assert list(metric_queries(of, {}, ())) == ["cpu"]


def test_a_library_that_is_missing_is_named_with_the_command_that_installs_it():
    with pytest.raises(MissingLibrary, match=r"^missing_library is not installed: run pip install"):
        require("missing_library.part")


def test_a_history_with_less_than_since_has_a_warning(files, capsys):
    assert backtest(files, "--since=2h") == 0
    assert capsys.readouterr().err == ""
    assert backtest(files, "--since=7d") == 0
    assert (
        capsys.readouterr().err == "kubectl loadline backtest: only 2 h of the 7 d are recorded\n"
    )


def test_a_history_with_gaps_has_a_warning(files, capsys):
    rows = (files / "web.csv").read_text().splitlines()
    (files / "web.csv").write_text("\n".join([*rows[:31], *rows[-30:]]))
    assert backtest(files) == 0
    assert "only 65 min of the 2 h are recorded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("until", "end"), [(None, 1_000_020), (999_999, 999_960), (2e6, 1_000_020)]
)
def test_the_history_ends_with_the_last_step_and_not_in_the_future(until, end):
    span = span_of(argparse.Namespace(since=3600, until=until, step=60), 1_000_030)
    assert (span.start_unix_seconds, span.end_unix_seconds) == (end - 3600, end)


def on_terminal(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)


def test_columns_that_do_not_fit_a_terminal_are_left_out(files, capsys, monkeypatch):
    on_terminal(monkeypatch, 80)
    assert backtest(files, "--price=0.5") == 0
    output = capsys.readouterr()
    assert max(map(len, output.out.splitlines())) <= 80
    (header,) = [line for line in output.out.splitlines() if line.startswith("policy")]
    assert header.split() == ["policy", "start-up", "short", "spare", "longest", "replica-h", "cost", "warning"]  # fmt: skip
    assert (
        "Hidden at 80 columns: instability, jitter, wasted, depth (-o wide shows all)"
        in " ".join(output.err.split())
    )


def test_wide_output_and_a_pipe_have_all_columns(files, capsys, monkeypatch):
    assert backtest(files) == 0
    piped = capsys.readouterr().out
    on_terminal(monkeypatch, 80)
    assert backtest(files, "-o", "wide") == 0
    wide = capsys.readouterr().out
    rows = [line for line in piped.splitlines() if line.startswith(("policy", "oracle  "))]
    assert len(rows) == 2
    assert set(rows) <= set(wide.splitlines())


def test_a_series_that_prometheus_does_not_have_is_unavailable_with_what_to_do(tmp_path):
    queue = "{type: External, external: {metric: {name: queue_length}, target: {type: AverageValue, averageValue: 30}}}"
    head, _, _ = HPA.partition("  - {")
    (tmp_path / "web.yaml").write_text(f"{head}  - {queue}\n")
    samples = {"queue_length": [(START + 60.0 * minute, 5.0) for minute in range(120)]}
    inputs = Inputs(
        present=read_manifest(tmp_path / "web.yaml"),
        candidates={},
        history=RecordedSeries(recording=recording_of(samples, {}, 60, expected="any metric")),
        settings={},
    )
    with pytest.raises(
        SeriesUnavailable,
        match=r"ready replicas: give --query ready_replicas=PROMQL, install kube-state-metrics, or add the column",
    ):
        request_of(parser().parse_args(["web", "--since=2h"]), inputs)


def explained(*queries):
    return Explained(tuple(ExplainedQuery(each) for each in queries))


def test_a_formula_does_not_shift_the_queries_of_the_metrics_after_it():
    """The adapter explains no formula, because it requests no metric of its own."""
    metrics = (formula("a / 2", name="half"), external(average("1"), name="a"), external(average("1"), name="b"))  # fmt: skip
    found = metric_queries(autoscaler(spec(*metrics)), {}, [explained("of_a"), explained("of_b")])
    assert {name: each.promql for name, each in found.items()} == {"a": "of_a", "b": "of_b"}


@pytest.mark.parametrize("name", ["cpu", "memory"])
def test_of_the_usage_of_both_resources_the_one_of_the_metric_counts(name):
    both = explained("sum(container_cpu_usage)", "sum(container_memory_usage)")
    of = autoscaler(spec(resource(average("1"), name=name)))
    assert name in metric_queries(of, {}, [both])[name].promql


def test_a_forecast_learns_from_the_first_sample_of_a_metric_and_not_of_the_replicas(files, capsys):
    rows = "".join(f"{START - 86_400 + 60 * minute},,4\n" for minute in range(1440))
    header, _, measured = (files / "web.csv").read_text().partition("\n")
    (files / "web.csv").write_text(f"{header}\n{rows}{measured}")
    assert backtest(files, "--learn=1h", "-o", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["startUnixSeconds"] == START
    assert report["scoredFromUnixSeconds"] == START + 3600


def test_an_autoscaler_without_a_namespace_is_in_that_of_the_flag(files, capsys):
    (files / "web.yaml").write_text(HPA.replace(", namespace: shop", ""))
    assert backtest(files, "-n", "eu", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["autoscaler"] == "eu/web"


@pytest.mark.parametrize("output", ["--save-history=web.csv", "--decisions=web.yaml", "--html=web.yaml"])  # fmt: skip
def test_no_input_is_overwritten(files, capsys, monkeypatch, output):
    monkeypatch.chdir(files)
    before = (files / "web.csv").read_text(), (files / "web.yaml").read_text()
    assert backtest(files, output) == 2
    assert f"{output} is also an input" in capsys.readouterr().err
    assert before == ((files / "web.csv").read_text(), (files / "web.yaml").read_text())
