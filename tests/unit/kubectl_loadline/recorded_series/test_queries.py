"""Which PromQL has the history of an autoscaler."""

import msgspec
import pytest

from kubectl_loadline.backtest.series import series_of
from kubectl_loadline.recorded_series.files import UnusableSeries, read_csv, read_range, write_csv
from kubectl_loadline.recorded_series.prometheus import TimeSpan
from kubectl_loadline.recorded_series.queries import (
    delay_of,
    generalized,
    replica_queries,
    start_up_queries,
    usage_query,
)
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.objects import autoscaler, resource, spec, utilization

WEB = autoscaler(spec(resource(utilization(50))))
NAMES = ("web-5d9c7b-aaaaa", "web-5d9c7b-bbbbb")


def test_the_present_pods_in_a_query_become_all_pods_of_the_target():
    found = generalized(
        'sum by (pod) (rate(x{namespace="shop",pod=~"web-5d9c7b-aaaaa|web-5d9c7b-bbbbb"}[1m]))',
        [{"pod": NAMES[0]}], NAMES, WEB,
    )  # fmt: skip
    assert found.promql == (
        'sum by (pod) (rate(x{namespace="shop",pod=~"web-[a-z0-9]+-[a-z0-9]{5}"}[1m]))'
    )
    assert found.counts({"pod": "anything"})


def test_of_a_query_for_all_pods_the_rows_of_the_target_count():
    rows = [{"namespace": "shop", "pod": name} for name in NAMES]
    found = generalized("sum by (namespace, pod) (rate(x[1m]))", rows, NAMES, WEB)
    assert found.counts({"namespace": "shop", "pod": "web-7c6-zzzzz"})
    assert not found.counts({"namespace": "shop", "pod": "web-api-7c6-zzzzz"})
    assert not found.counts({"namespace": "other", "pod": "web-7c6-zzzzz"})


def test_a_query_without_pods_stays_as_it_is():
    found = generalized('sum(queue{queue="mail"})', [{}], (), WEB)
    assert (found.promql, found.where) == ('sum(queue{queue="mail"})', {})


@pytest.mark.parametrize(
    ("promql", "seconds"),
    [
        ("sum(queue)", 15),
        ("sum(rate(x[5m]))", 165),
        ("max_over_time(sum(rate(x[1m]))[10m:1m])", 315),
    ],
)
def test_a_query_is_late_by_half_of_its_range_and_a_scrape(promql, seconds):
    assert delay_of(promql, 15) == seconds


def test_usage_replicas_and_start_up_have_queries_of_their_own():
    usage = usage_query(WEB.spec.metrics[0], WEB)
    assert 'container_cpu_usage_seconds_total{namespace="shop",pod=~"web-' in usage.promql
    assert usage_query(resource(utilization(50), name="memory"), WEB) is None
    of_hpa = replica_queries(WEB, HORIZONTAL_POD_AUTOSCALERS)["replicas"]
    assert (
        of_hpa[0].promql == 'max(kube_deployment_spec_replicas{namespace="shop",deployment="web"})'
    )
    assert 'hpa_name="web"' in of_hpa[1].promql
    assert 'name="web"' in replica_queries(WEB, LOAD_AUTOSCALERS)["replicas"][1].promql
    assert start_up_queries(WEB, 60)[1].startswith("quantile(0.95, ")


def test_a_span_is_read_by_days_and_in_chunks_that_prometheus_accepts():
    span = TimeSpan(start_unix_seconds=86_000, end_unix_seconds=3 * 86_400, step_seconds=60)
    assert [(each.start_unix_seconds, each.end_unix_seconds) for each in span.chunks()] == [
        (86_040, 86_400), (86_400, 172_800), (172_800, 259_200),
    ]  # fmt: skip
    fine = TimeSpan(start_unix_seconds=0, end_unix_seconds=86_400, step_seconds=1)
    sizes = [each.end_unix_seconds - each.start_unix_seconds for each in fine.chunks()]
    assert (max(sizes), sum(sizes)) == (10_000, 86_400)


def test_a_csv_file_is_read_as_it_was_written(tmp_path):
    series = {"load": series_of([(60, 1.5), (120, 2.25), (900, 0.1)], 60)}
    write_csv(tmp_path / "history.csv", series)
    found = read_csv(tmp_path / "history.csv")
    assert series_of(found["load"], 60).values[:2] == (1.5, 2.25)


def test_a_single_series_may_have_any_name_and_times_may_be_rfc_3339(tmp_path):
    file = tmp_path / "history.csv"
    file.write_text("when,value,replicas\n2026-11-22T00:00:00Z,3,2\n2026-11-22T00:01:00Z,,2\n")
    found = read_csv(file, only_metric="requests")
    assert found == {
        "requests": [(1795305600.0, 3.0)],
        "replicas": [(1795305600.0, 2.0), (1795305660.0, 2.0)],
    }


def test_the_response_of_a_range_query_is_summed(tmp_path):
    file = tmp_path / "range.json"
    result = [{"metric": {"pod": name}, "values": [[60, "1"], [120, text]]} for name, text in (("a", "2"), ("b", "NaN"))]  # fmt: skip
    file.write_bytes(msgspec.json.encode({"status": "success", "data": {"result": result}}))
    assert read_range(file) == [(60.0, 2.0), (120.0, 2.0)]


def test_a_load_may_be_negative(tmp_path):
    file = tmp_path / "history.csv"
    file.write_text("time,load,replicas\n1,-2,0\n")
    assert read_csv(file) == {"load": [(1, -2)], "replicas": [(1, 0)]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,load\n", "it needs a header and rows"),
        ("time,load\n1,2\nx,3\n", "line 3: Invalid isoformat string: 'x'"),
        ("time,load\nnan,4\n", "line 2: the time nan is not a number of Unix seconds"),
        ("time,load\n1764547200000,4\n", "before the year 2100: divide milliseconds by 1000"),
        (
            "time,load\n1764547200,4\n0,5\n",
            "the times 0 and 1764547200 are more than a year apart: remove the rows with a wrong time",
        ),
        ("time,load\n1,many\n", "line 2: could not convert string to float: 'many'"),
        (
            "time,load,replicas\n1,2,3\n2,4,-1\n",
            "line 3: the column replicas has -1, which is less than 0",
        ),
        (
            "time,ready_replicas\n1,-0.5\n",
            "line 2: the column ready_replicas has -0.5, which is less than 0",
        ),
        (
            "time,load,replicas, load\n1,2,3,4\n",
            "line 1: the column load occurs more than once: name each series once",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_line(tmp_path, text, message):
    file = tmp_path / "history.csv"
    file.write_text(text)
    with pytest.raises(UnusableSeries) as found:
        read_csv(file)
    assert message in str(found.value)
    assert str(file) in str(found.value)
