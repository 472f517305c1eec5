"""Each deviation explains its own difference and no other."""

import pytest

from testbed.differential.adapter.adapter_deviations import explain
from testbed.differential.adapter.metrics_requests import MetricsRequest
from testbed.differential.adapter.response_comparison import ComparableResponse

JSON = "application/json"
USAGE = "/apis/metrics.k8s.io/v1beta1/pods"
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta1/namespaces/one"


def refusal(code, message, **more):
    document = {"kind": "Status", "code": code, "message": message, "reason": "NotFound", **more}
    return ComparableResponse(status=code, content_type=JSON, document=document)


def values(*texts):
    items = [{"value": text} for text in texts]
    return ComparableResponse(
        status=200, content_type=JSON, document={"kind": "MetricValueList", "items": items}
    )


def usage(*memories):
    items = [{"containers": [{"usage": {"cpu": "1", "memory": memory}}]} for memory in memories]
    return {"kind": "PodMetricsList", "items": items}


def custom_request(path="/pods/*/m", accept=""):
    return MetricsRequest(category="custom", target=CUSTOM + path, accept=accept)


QUERY = 'sum({__name__="SERIES",pod=~"web-0|web-1"}) by (pod) / 3'


@pytest.mark.parametrize(
    ("upstream", "loadline", "expected"),
    [
        pytest.param("edge_without_namespace", "edge_gone", True, id="shorter"),
        pytest.param("edge_a", "edge_b", True, id="of the same length, the last one"),
        pytest.param("edge_gone", "edge_without_namespace", False, id="longer"),
        pytest.param("edge_b", "edge_a", False, id="of the same length, the first one"),
        pytest.param("edge_a", "edge_a", False, id="the same series"),
    ],
)
def test_another_series_is_explained_only_if_its_name_is_preferred(upstream, loadline, expected):
    sent = [QUERY.replace("SERIES", each) for each in (upstream, loadline)]
    queries = ([sent[0]], ["up", sent[1]])
    found = explain(custom_request(), values("50"), values("13"), queries)
    assert found == ("several-series-of-one-metric" if expected else None)


WIDE_QUERY = 'sum({__name__="SERIES",namespace=~"one|two",pod!=""}) by (pod,namespace) / 3'


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(("", ""), True, id="alike otherwise"),
        pytest.param(("/ 3", "/ 4"), False, id="another number"),
        pytest.param(("sum", "max"), False, id="another aggregation"),
        pytest.param((",pod", ',code="2",pod'), False, id="another matcher"),
        pytest.param(("SERIES", "a_longer_name_of_a_series"), False, id="a longer name"),
    ],
)
def test_another_series_of_several_namespaces_is_explained(change, expected):
    narrow = 'sum({__name__="a_long_name",namespace="one",pod=~"web-0|web-1"}) by (pod) / 3'
    wide = WIDE_QUERY.replace(*change).replace("SERIES", "short")
    found = explain(custom_request(), values("50"), values("13"), ([narrow], [wide]))
    assert found == ("several-series-of-one-metric" if expected else None)


def test_another_series_is_not_explained_if_loadline_queries_the_same_one_too():
    """Then it is another metric with a similar query, such as memory instead of CPU."""
    sent = [QUERY.replace("SERIES", each) for each in ("edge_cpu", "cpu")]
    assert explain(custom_request(), values("50"), values("13"), (sent[:1], sent)) is None


def test_another_series_is_explained_although_an_earlier_metric_needed_the_same_query():
    sent = [QUERY.replace("SERIES", each) for each in ("edge_second", "edge_first")]
    found = explain(
        custom_request(), values("50"), values("13"), (sent[:1], sent[1:]), earlier=sent[:1]
    )
    assert found == "several-series-of-one-metric"


def test_another_series_is_explained_whose_result_is_used_again():
    sent = [QUERY.replace("SERIES", each) for each in ("edge_second", "edge_first")]
    found = explain(custom_request(), values("50"), values("13"), (sent[:1], []), earlier=sent[1:])
    assert found == "several-series-of-one-metric"


@pytest.mark.parametrize("change", [("3", "4"), ("|web-1", "")], ids=["a number", "fewer words"])
def test_another_query_of_a_shorter_series_is_not_explained(change):
    query = QUERY.replace(*change).replace("SERIES", "edge")
    queries = ([QUERY.replace("SERIES", "edge_a1")], [query])
    assert explain(custom_request(), values("50"), values("13"), queries) is None


@pytest.mark.parametrize(
    ("name", "sent", "upstream", "loadline"),
    [
        pytest.param(
            "refusals-say-why",
            custom_request(),
            refusal(404, "no metric"),
            refusal(404, "no metric: no rule"),
            id="with the cause",
        ),
        pytest.param(
            "newer-validation-words",
            custom_request(),
            refusal(400, "must be no more than 63 characters"),
            refusal(400, "must be no more than 63 bytes (in labelSelector 'x')"),
            id="bytes, not characters",
        ),
        pytest.param(
            "values-beyond-int64",
            custom_request(),
            values("-9223372036854775808m"),
            refusal(500, "the value is inf for 'web-0'"),
            id="infinite",
        ),
        pytest.param(
            "cluster-scoped-resources",
            custom_request("/planets/*/m"),
            refusal(500, "unable to list matching resources"),
            refusal(404, "no metric m for planets: it is there for planets.x (not namespaced)"),
            id="all objects of a namespace",
        ),
        pytest.param(
            "no-protobuf",
            custom_request(accept="application/vnd.kubernetes.protobuf"),
            ComparableResponse(
                status=200, content_type="application/vnd.kubernetes.protobuf", document="k8s"
            ),
            refusal(406, "only JSON"),
            id="only protobuf",
        ),
        pytest.param(
            "usage-in-full",
            MetricsRequest(category="usage", target=USAGE, accept="application/json;as=Table"),
            ComparableResponse(status=200, content_type=JSON, document={"kind": "Table"}),
            refusal(406, "only JSON"),
            id="a table of usage",
        ),
        pytest.param(
            "usage-errors",
            MetricsRequest(category="usage", target=USAGE),
            ComparableResponse(
                status=200, content_type=JSON, document={"kind": "PodMetricsList", "items": []}
            ),
            refusal(500, "Internal error occurred: unable to fetch metrics: resourceRules.cpu: x"),
            id="failed usage query",
        ),
        pytest.param(
            "values-beyond-int64",
            MetricsRequest(category="usage", target=USAGE),
            ComparableResponse(
                status=200, content_type=JSON, document=usage("1", "-9223372036854775808m")
            ),
            ComparableResponse(status=200, content_type=JSON, document=usage("1")),
            id="one pod omitted",
        ),
        pytest.param(
            "empty-path-segments",
            MetricsRequest(category="odd path", target="/apis/external.metrics.k8s.io/v1beta1//m"),
            values("1"),
            refusal(404, "no such path"),
            id="empty namespace",
        ),
        pytest.param(
            "malformed-escapes",
            custom_request("/pods/*/%zz"),
            ComparableResponse(status=400, content_type="text/plain", document="400 Bad Request"),
            refusal(400, "a % that no two hexadecimal digits follow"),
            id="malformed escape",
        ),
        pytest.param(
            "values-beyond-int64",
            custom_request(),
            values("1", "-9223372036854775808m"),
            values("1"),
            id="one of two is infinite",
        ),
        pytest.param(
            "unknown-paths-are-refused",
            MetricsRequest(category="odd path", target="/nowhere"),
            ComparableResponse(status=404, content_type=JSON, document={"paths": ["/apis"]}),
            refusal(404, "no such path"),
            id="an unknown path",
        ),
        pytest.param(
            "own-paths",
            MetricsRequest(category="odd path", target="/"),
            ComparableResponse(status=200, content_type=JSON, document={"paths": ["/apis"]}),
            ComparableResponse(status=200, content_type=JSON, document={"paths": ["/livez"]}),
            id="the index",
        ),
    ],
)
def test_a_deviation_explains_its_difference(name, sent, upstream, loadline):
    assert explain(sent, upstream, loadline) == name


@pytest.mark.parametrize(
    ("upstream", "loadline"),
    [
        pytest.param(values("1"), values("2"), id="another value"),
        pytest.param(values("1"), refusal(404, "no metric"), id="an error instead of a value"),
        pytest.param(refusal(404, "no metric"), values("1"), id="a value instead of an error"),
        pytest.param(refusal(404, "no metric"), refusal(500, "no metric"), id="another code"),
        pytest.param(refusal(404, "no metric"), refusal(404, "nothing"), id="another message"),
        pytest.param(
            refusal(404, "no metric", details={"name": "m"}),
            refusal(404, "no metric: no rule"),
            id="details missing besides the cause",
        ),
        pytest.param(
            values("1"), refusal(500, "the value is inf"), id="an error for a value in range"
        ),
        pytest.param(
            values("-9223372036854775808m"), refusal(500, "Prometheus failed"), id="another error"
        ),
        pytest.param(
            ComparableResponse(status=200, content_type=JSON, document=usage("1", "2")),
            ComparableResponse(status=200, content_type=JSON, document=usage("1")),
            id="a pod omitted without a reason",
        ),
        pytest.param(
            ComparableResponse(status=200, content_type=JSON, document=usage("1")),
            refusal(500, "Internal error occurred: unable to fetch metrics: resourceRules.cpu: x"),
            id="missing usage",
        ),
        pytest.param(
            ComparableResponse(status=200, content_type=JSON, document={"paths": ["/apis"]}),
            refusal(404, "no such path"),
            id="an index where a metric should be",
        ),
    ],
)
def test_other_differences_are_not_explained(upstream, loadline):
    assert explain(custom_request(), upstream, loadline) is None
