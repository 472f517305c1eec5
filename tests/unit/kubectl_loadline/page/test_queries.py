"""The PromQL of the page."""

import promql_parser
import pytest

from kubectl_loadline.page.queries import counts_by_row, current_query, history_query
from kubectl_loadline.status.row import Row
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from wire.prometheus.query_api import RangeSeries


def row(name, kind="la", namespace="shop"):
    return Row(kind=kind, namespace=namespace, name=name, target="Deployment/web", min=1, max=9)


@pytest.mark.parametrize("kind", [LOAD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS])
def test_everything_of_one_autoscaler_is_one_query(kind):
    query = history_query(kind, "shop", "web.1")
    promql_parser.parse(query)
    assert query.count('"web.1"') == 4
    assert "metric_value" in query


def test_the_table_is_one_query_in_which_a_dot_is_a_dot():
    rows = [row("web"), row("web.1"), row("web", namespace="test"), row("jobs", kind="hpa")]
    query = current_query(rows)
    promql_parser.parse(query)
    assert r'name=~"web|web\\.1"' in query
    assert 'hpa_name=~"jobs"' in query
    assert 'exported_namespace=~"shop|test"' in query


def test_a_series_belongs_to_the_row_that_its_labels_name():
    def series(metric, value, **labels):
        return RangeSeries(
            {"__name__": f"{metric}_status_current_replicas", **labels}, {0.0: value}
        )

    found = counts_by_row(
        [
            series("loadline_scaler_autoscaler", 1.0, namespace="shop", name="web"),
            series("kube_loadautoscaler", 2.0, exported_namespace="shop", namespace="monitoring", loadautoscaler="web"),
            series("kube_horizontalpodautoscaler", 3.0, namespace="shop", horizontalpodautoscaler="web"),
            series("loadline_scaler_autoscaler", 4.0, exported_namespace="test", namespace="monitoring", hpa_name="web"),
            series("loadline_scaler_autoscaler", 5.0, namespace="shop"),
        ]
    )  # fmt: skip
    assert found == {
        "la/shop/web": {0.0: 1.0},
        "hpa/shop/web": {0.0: 3.0},
        "hpa/test/web": {0.0: 4.0},
    }
