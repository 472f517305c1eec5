"""`kubectl loadline backtest` on a real Prometheus that holds an hour of history."""

import json
import math
import subprocess
import time
from pathlib import Path

import pytest

from kubectl_loadline.commands.backtest.command import main
from testbed import assets
from testbed.prometheus import PrometheusOptions, PrometheusServer

HOUR = 3600
SCRAPE_SECONDS = 15
TARGET = 50
START_UP_SECONDS = 45
END = int(time.time()) // 60 * 60 - HOUR
START = END - HOUR
AUTOSCALER = f"""
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: web, namespace: shop}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}
  minReplicas: 2
  maxReplicas: 20
  metrics:
  - type: Pods
    pods: {{metric: {{name: requests_per_second}}, target: {{type: AverageValue, averageValue: "{TARGET}"}}}}
"""
QUERY = 'requests_per_second=sum by (pod) (rate(http_requests_total{namespace="shop"}[1m]))'


def load_at(at: int) -> float:
    """Two waves in an hour."""
    return 300 + 200 * math.sin((at - START) / HOUR * 4 * math.pi)


def replicas_of_an_hpa() -> dict[int, int]:
    """What an HPA did, by a short model of its own: the rate of the last minute, tolerance, five minutes of stabilization."""
    found, count, wanted = {}, 6, []
    for at in range(START, END, SCRAPE_SECONDS):
        rate = load_at(at - 30)
        proposal = count if 0.9 <= rate / TARGET / count <= 1.1 else math.ceil(rate / TARGET)
        wanted.append((at, proposal))
        count = max(replicas for made, replicas in wanted if made >= at - 300)
        found[at] = count
    return found


def openmetrics() -> str:
    """The counters of the pods, and what kube-state-metrics has of the Deployment and its pods."""
    counters: dict[str, float] = {}
    created = {f"web-5d9c7b-{index:05}": START - HOUR for index in range(6)}
    lines: dict[str, list[str]] = {
        name: [] for name in ("requests", "spec", "ready", "created", "since")
    }
    for at, count in replicas_of_an_hpa().items():
        while len(created) < count:
            created[f"web-5d9c7b-{len(created):05}"] = at
        names = list(created)[:count]
        ready = [name for name in names if created[name] + START_UP_SECONDS <= at]
        for name in ready:
            counters[name] = counters.get(name, 0) + load_at(at) / len(ready) * SCRAPE_SECONDS
            lines["requests"].append(
                f'http_requests_total{{namespace="shop",pod="{name}"}} {counters[name]:.6f} {at}'
            )
        where = 'namespace="shop",deployment="web"'
        lines["spec"].append(f"kube_deployment_spec_replicas{{{where}}} {count} {at}")
        lines["ready"].append(f"kube_deployment_status_replicas_ready{{{where}}} {len(ready)} {at}")
        for name in names:
            pod = f'namespace="shop",pod="{name}"'
            lines["created"].append(f"kube_pod_created{{{pod}}} {created[name]} {at}")
            if name in ready:
                lines["since"].append(
                    f"kube_pod_status_ready_time{{{pod}}} {created[name] + START_UP_SECONDS} {at}"
                )
    types = ("http_requests counter", "kube_deployment_spec_replicas gauge", "kube_deployment_status_replicas_ready gauge", "kube_pod_created gauge", "kube_pod_status_ready_time gauge")  # fmt: skip
    text = []
    for heading, name in zip(types, lines, strict=True):
        text += [f"# TYPE {heading}", *sorted(lines[name], key=lambda line: line.partition("}")[0])]
    return "\n".join([*text, "# EOF", ""])


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    directory = tmp_path_factory.mktemp("prometheus")
    recorded = directory / "recorded.txt"
    recorded.write_text(openmetrics())
    subprocess.run(
        [assets.find("promtool"), "tsdb", "create-blocks-from", "openmetrics", recorded, directory / "storage"],
        check=True, capture_output=True,
    )  # fmt: skip
    options = PrometheusOptions(lookback_delta_seconds=60)
    with PrometheusServer(options, directory=directory) as server:
        yield server


def backtest(prometheus, tmp_path: Path, *arguments: str) -> int:
    autoscaler = tmp_path / "web.yaml"
    autoscaler.write_text(AUTOSCALER)
    return main(
        [
            f"--autoscaler={autoscaler}", f"--prometheus-url={prometheus.url}", f"--query={QUERY}", f"--cache={tmp_path / 'cache'}",
            "--until=" + time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(END)), "--since=1h", "--step=15s", *arguments,
        ]
    )  # fmt: skip


def test_an_hour_of_history_is_reproduced_and_compared(prometheus, tmp_path, capsys):
    candidate = tmp_path / "half.yaml"
    candidate.write_text(AUTOSCALER.replace('"50"', '"25"'))
    assert backtest(prometheus, tmp_path, f"--candidate={candidate}", "-o", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["fidelity"]["withinOnePercent"] >= 95
    assert report["warnings"] == []
    assert report["sources"]["replicas"].startswith("max(kube_deployment_spec_replicas")
    assert report["startUpFrom"] == "45 s, as recorded by kube-state-metrics"
    (load,) = report["loads"]
    # Half of the window of a minute, and a scrape interval.
    assert load["delaySeconds"] == pytest.approx(30 + SCRAPE_SECONDS, abs=20)
    hours = {each["policy"]: each["score"]["replicaHours"] for each in report["results"]}
    assert hours["half"] > 1.7 * hours["current spec"]
    assert hours["current spec"] == pytest.approx(hours["recorded"], rel=0.05)
    assert hours["oracle"] < hours["current spec"]


def test_history_that_was_saved_gives_the_same_result(prometheus, tmp_path, capsys):
    saved = tmp_path / "history.csv"
    assert backtest(prometheus, tmp_path, "-o", "json", f"--save-history={saved}") == 0
    first = json.loads(capsys.readouterr().out)
    delay = first["loads"][0]["delaySeconds"]
    arguments = [
        f"--autoscaler={tmp_path / 'web.yaml'}",
        f"--history={saved}",
        "--step=15s",
        "--start-up=45s",
    ]
    assert main([*arguments, f"--delay=requests_per_second={delay}s", "-o", "json"]) == 0
    second = json.loads(capsys.readouterr().out)
    same = ("startUnixSeconds", "endUnixSeconds", "decisions", "fidelity", "loads", "results")
    second["loads"][0] |= {
        "servedFrom": first["loads"][0]["servedFrom"],
        "source": first["loads"][0]["source"],
    }
    assert [second[name] for name in same] == [first[name] for name in same]


def test_whole_chunks_are_read_once(prometheus, tmp_path, capsys):
    assert backtest(prometheus, tmp_path) == 0
    kept = sorted((tmp_path / "cache").rglob("*.msgpack"))
    before = [(each, each.stat().st_mtime_ns) for each in kept]
    assert backtest(prometheus, tmp_path) == 0
    assert kept
    assert before == [(each, each.stat().st_mtime_ns) for each in kept]
    capsys.readouterr()


def test_a_query_that_prometheus_refuses_is_named(prometheus, tmp_path, capsys):
    assert backtest(prometheus, tmp_path, "--query=requests_per_second=rate(") == 1
    assert "cannot answer sum(rate()" in capsys.readouterr().err
