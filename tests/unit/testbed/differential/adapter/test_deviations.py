"""The deviations: each explains its own difference, and no other beside it."""

import pytest

from testbed.differential.adapter.comparison import Seen
from testbed.differential.adapter.deviations import explain
from testbed.differential.adapter.questions import Question

JSON = "application/json"
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta1/namespaces/one"


def refusal(code, message, **more):
    document = {"kind": "Status", "code": code, "message": message, "reason": "NotFound", **more}
    return Seen(status=code, content_type=JSON, document=document)


def values(*texts):
    items = [{"value": text} for text in texts]
    return Seen(status=200, content_type=JSON, document={"kind": "MetricValueList", "items": items})


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
            Seen(status=200, content_type=JSON, document={"paths": ["/apis"]}),
            refusal(404, "no such path"),
            id="an index where a metric should be",
        ),
    ],
)
def test_what_nobody_meant_stays_unexplained(theirs, ours):
    assert explain(asked(), theirs, ours) is None
