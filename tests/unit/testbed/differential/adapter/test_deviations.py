"""The deviations: each explains its own difference, and no other beside it."""

import pytest

from testbed.differential.adapter.comparison import Seen
from testbed.differential.adapter.deviations import explain
from testbed.differential.adapter.questions import Question

JSON = "application/json"
USAGE = "/apis/metrics.k8s.io/v1beta1/pods"
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta1/namespaces/one"


def refusal(code, message, **more):
    document = {"kind": "Status", "code": code, "message": message, "reason": "NotFound", **more}
    return Seen(status=code, content_type=JSON, document=document)


def values(*texts):
    items = [{"value": text} for text in texts]
    return Seen(status=200, content_type=JSON, document={"kind": "MetricValueList", "items": items})


def usage(*memories):
    items = [{"containers": [{"usage": {"cpu": "1", "memory": memory}}]} for memory in memories]
    return {"kind": "PodMetricsList", "items": items}


def asked(path="/pods/*/m", accept=""):
    return Question(category="custom", target=CUSTOM + path, accept=accept)


@pytest.mark.parametrize(
    ("name", "question", "theirs", "ours"),
    [
        pytest.param(
            "refusals-say-why",
            asked(),
            refusal(404, "no metric"),
            refusal(404, "no metric: no rule"),
            id="the cause follows",
        ),
        pytest.param(
            "newer-validation-words",
            asked(),
            refusal(400, "must be no more than 63 characters"),
            refusal(400, "must be no more than 63 bytes (in labelSelector 'x')"),
            id="bytes, not characters",
        ),
        pytest.param(
            "values-beyond-int64",
            asked(),
            values("1", "-9223372036854775808m"),
            refusal(500, "the value is inf for 'web-0'"),
            id="infinite",
        ),
        pytest.param(
            "cluster-scoped-resources",
            asked("/planets/mars/m"),
            values("1"),
            refusal(404, "no metric m for planets: it is there for planets.x (not namespaced)"),
            id="asked within a namespace",
        ),
        pytest.param(
            "no-protobuf",
            asked(accept="application/vnd.kubernetes.protobuf"),
            Seen(status=200, content_type="application/vnd.kubernetes.protobuf", document="k8s"),
            refusal(406, "only JSON"),
            id="nothing but protobuf",
        ),
        pytest.param(
            "usage-in-full",
            Question(category="usage", target=USAGE, accept="application/json;as=Table"),
            Seen(status=200, content_type=JSON, document={"kind": "Table"}),
            refusal(406, "only JSON"),
            id="a table of usage",
        ),
        pytest.param(
            "usage-errors",
            Question(category="usage", target=USAGE),
            Seen(status=200, content_type=JSON, document={"kind": "PodMetricsList", "items": []}),
            refusal(500, "Internal error occurred: unable to fetch metrics: resourceRules.cpu: x"),
            id="usage that cannot be had",
        ),
        pytest.param(
            "values-beyond-int64",
            Question(category="usage", target=USAGE),
            Seen(status=200, content_type=JSON, document=usage("1", "-9223372036854775808m")),
            Seen(status=200, content_type=JSON, document=usage("1")),
            id="one pod left out",
        ),
        pytest.param(
            "empty-path-segments",
            Question(category="odd path", target="/apis/external.metrics.k8s.io/v1beta1//m"),
            values("1"),
            refusal(404, "no such path"),
            id="no namespace",
        ),
        pytest.param(
            "malformed-escapes",
            asked("/pods/*/%zz"),
            Seen(status=400, content_type="text/plain", document="400 Bad Request"),
            refusal(400, "a % that no two hexadecimal digits follow"),
            id="half an escape",
        ),
        pytest.param(
            "unknown-paths-are-refused",
            Question(category="odd path", target="/"),
            Seen(status=200, content_type=JSON, document={"paths": ["/apis"]}),
            refusal(404, "no such path"),
            id="the index",
        ),
    ],
)
def test_a_deviation_explains_its_difference(name, question, theirs, ours):
    assert explain(question, theirs, ours) == name


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        pytest.param(values("1"), values("2"), id="another value"),
        pytest.param(values("1"), refusal(404, "no metric"), id="a refusal of an answer"),
        pytest.param(refusal(404, "no metric"), values("1"), id="an answer of a refusal"),
        pytest.param(refusal(404, "no metric"), refusal(500, "no metric"), id="another code"),
        pytest.param(refusal(404, "no metric"), refusal(404, "nothing"), id="other words"),
        pytest.param(
            refusal(404, "no metric", details={"name": "m"}),
            refusal(404, "no metric: no rule"),
            id="details lost beside the cause",
        ),
        pytest.param(
            values("1"), refusal(500, "the value is inf"), id="a refusal of a value that fits"
        ),
        pytest.param(
            values("-9223372036854775808m"), refusal(500, "Prometheus failed"), id="another failure"
        ),
        pytest.param(
            Seen(status=200, content_type=JSON, document=usage("1", "2")),
            Seen(status=200, content_type=JSON, document=usage("1")),
            id="a pod left out for nothing",
        ),
        pytest.param(
            Seen(status=200, content_type=JSON, document=usage("1")),
            refusal(500, "Internal error occurred: unable to fetch metrics: resourceRules.cpu: x"),
            id="usage lost",
        ),
        pytest.param(
            Seen(status=200, content_type=JSON, document={"paths": ["/apis"]}),
            refusal(404, "no such path"),
            id="an index where a metric should be",
        ),
    ],
)
def test_what_nobody_meant_stays_unexplained(theirs, ours):
    assert explain(asked(), theirs, ours) is None
