"""`kubectl loadline backtest` with candidates: what is read for them, and what they are called."""

import csv
import json
import os

import pytest

from kubectl_loadline.program import main
from tests.unit.kubectl_loadline.api_server import LAS, within
from tests.unit.kubectl_loadline.commands.test_backtest import START
from tests.unit.kubectl_loadline.commands.test_simulate import shop  # noqa: F401 - a fixture

CALENDAR = "/apis/loadline.io/v1beta1/namespaces/shop/scalingcalendars/retail"
METRIC = {"type": "External", "external": {"metric": {"name": "requests"}, "target": {"type": "AverageValue", "averageValue": "1"}}}  # fmt: skip
SCHEDULE = {"name": "sale", "calendarRef": {"kind": "ScalingCalendar", "name": "retail"}}


def manifest(**spec):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "loadline.io/v1beta1",
        "kind": "LoadAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 9, "metrics": [METRIC], **spec},
    }


@pytest.fixture
def history(tmp_path):
    """Two hours with a load of 5 that falls to 2."""
    with (tmp_path / "history.csv").open("w") as lines:
        writer = csv.writer(lines)
        writer.writerow(["time", "requests", "replicas"])
        for minute in range(120):
            writer.writerow([START + 60 * minute, 5 if minute < 30 else 2, 5])
    return f"--history={tmp_path / 'history.csv'}"


@pytest.fixture
def written(tmp_path):
    def write(name, document):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(document))
        return file

    return write


def last_replicas(file, policy):
    """What the last decision of a policy wants."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [each["decision"] for each in lines if each["policy"] == policy][-1]["desired_replicas"]


def test_the_calendars_of_candidates_are_read(shop, history, written, tmp_path, capsys):  # noqa: F811
    shop.documents[f"{within(LAS, 'shop')}/web"] = manifest()
    entry = {"name": "sale", "start": "2026-11-22T00:00:00", "durationSeconds": 86_400 * 9, "minReplicas": 7}  # fmt: skip
    metadata = {"namespace": "shop", "name": "retail"}
    shop.documents[CALENDAR] = {"metadata": metadata, "spec": {"entries": [entry]}}
    candidate = written("sale.yaml", manifest(schedules=[SCHEDULE]))
    decisions = tmp_path / "decisions.jsonl"
    flags = [history, f"--candidate={candidate}", f"--decisions={decisions}"]
    assert main(["backtest", "la/web", *flags]) == 0
    assert "Not replayed" not in capsys.readouterr().out
    assert (last_replicas(decisions, "current spec"), last_replicas(decisions, "sale")) == (2, 7)


def test_a_schedule_whose_calendar_is_unknown_is_left_out_and_named(
    history, written, tmp_path, capsys
):
    """The scaler never scales down while it does not know a calendar."""
    file = written("web.yaml", manifest(schedules=[SCHEDULE]))
    decisions = tmp_path / "decisions.jsonl"
    flags = [history, f"--decisions={decisions}", "-o", "json"]
    assert main(["backtest", f"--autoscaler={file}", *flags]) == 0
    assert json.loads(capsys.readouterr().out)["notReplayed"] == [
        "current spec: the schedule sale: ScalingCalendar retail is not known without a cluster"
    ]
    assert last_replicas(decisions, "current spec") == 2


def test_candidates_in_files_of_the_same_name_are_all_compared(history, written, capsys):
    present = written("web.yaml", manifest())
    candidates = [
        written(f"{folder}/web.yaml", manifest(minReplicas=count))
        for folder, count in (("a", 3), ("b", 6))
    ]
    given = [f"--candidate={each}" for each in (*candidates, written("oracle.yaml", manifest()))]
    assert main(["backtest", f"--autoscaler={present}", history, *given, "-o", "json"]) == 0
    policies = [each["policy"] for each in json.loads(capsys.readouterr().out)["results"]]
    assert policies[:4] == ["recorded", "current spec", "a/web.yaml", "b/web.yaml"]
    assert policies.count("oracle") == 1
    assert len(set(policies)) == len(policies) == 6


@pytest.mark.parametrize(("query", "is_searched"), [("replicas", True), ("requests", False)])
def test_the_adapter_is_needed_unless_every_metric_has_a_query(shop, capsys, query, is_searched):  # noqa: F811
    shop.documents[f"{within(LAS, 'shop')}/web"] = manifest()
    flags = [f"--query={query}=up", "--prometheus-url=http://127.0.0.1:1", f"--cache={os.devnull}"]
    assert main(["backtest", "la/web", *flags]) in (1, 2)
    assert ("without the queries of the adapter" in capsys.readouterr().err) is is_searched
