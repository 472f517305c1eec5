"""The signal contract on a real Prometheus: what a value that is missing, senseless or old comes to."""

import pytest

from testbed.waiting import until
from tests.process.adapter.conftest import Asker, answers

CONFIGURATION = """
metrics:
- name: jobs_rate
  labels: {namespace: namespace}
  query: 'sum by (namespace) (rate(signal_jobs_total[1m]))'
  signal: {staleAfter: 3s, onStale: REACTION, lastFor: 1h}
- name: jobs_rate_unbounded
  labels: {namespace: namespace}
  query: 'sum by (namespace) (rate(signal_jobs_total[1m]))'
- name: backlog
  labels: {namespace: namespace}
  query: 'sum by (namespace) (signal_backlog)'
  signal: {onEmpty: REACTION, onNaN: REACTION, lastFor: 1h}
"""
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces"


@pytest.fixture
def asker(quick_adapter, prometheus, token, config):
    """`asker(reaction)`: an adapter whose contracts react so."""

    def start(reaction: str) -> Asker:
        written = CONFIGURATION.replace("REACTION", reaction)
        config.write_text(written if reaction == "last" else written.replace(", lastFor: 1h", ""))
        return Asker(quick_adapter(prometheus.url), token)

    return start


def value(asker: Asker, path: str) -> str:
    """The one value, or the message of the refusal."""
    code, document = asker.get(path)
    if code != 200:
        return document["message"]
    return ",".join(item["value"] for item in document["items"])


@pytest.mark.parametrize(
    ("reaction", "expected"),
    [
        pytest.param("fail", "the newest sample is ", id="fail"),
        pytest.param("omit", "", id="omit"),
        pytest.param("zero", "0", id="zero"),
        pytest.param("last", None, id="last"),
    ],
)
def test_a_rate_of_a_source_that_is_gone_is_stale_while_the_query_still_answers(
    asker, exporter, prometheus, namespace, reaction, expected
):
    exporter.increase("signal_jobs_total", 50, namespace=namespace)
    asking = asker(reaction)
    path = f"{EXTERNAL}/{namespace}/jobs_rate"
    good = until(
        lambda: (v := value(asking, path)) and v[0].isdigit() and v != "0" and v, what="a rate"
    )
    exporter.remove("signal_jobs_total", namespace=namespace)

    def reacts() -> bool:
        told = value(asking, path)
        # The rate over a minute goes on for a minute: it is the age that ends it.
        assert value(asking, f"{path}_unbounded")[0].isdigit()
        if expected is None:
            query = f'time() - max(timestamp(signal_jobs_total{{namespace="{namespace}"}}))'
            assert not prometheus.query(query)
            return told[0].isdigit() and told != "0"
        return told == expected or (len(expected) > 1 and expected in told)

    until(reacts, what=f"the reaction {reaction} after {good}", deadline_seconds=20)


@pytest.mark.parametrize(
    ("reaction", "empty", "nan"),
    [
        pytest.param("fail", "yields no row", "the value is nan", id="fail"),
        pytest.param("zero", "0", "0", id="zero"),
        pytest.param("last", "31", "31", id="last"),
    ],
)
def test_nothing_and_nan_are_answered_as_the_contract_says(
    asker, exporter, namespace, reaction, empty, nan
):
    asking = asker(reaction)
    path = f"{EXTERNAL}/{namespace}/backlog"
    exporter.set("signal_backlog", 31, namespace=namespace)
    answers(asking, path, "31")
    exporter.set("signal_backlog", float("nan"), namespace=namespace)
    now_told(asking, path, nan, namespace)
    exporter.set("signal_backlog", 31, namespace=namespace)
    answers(asking, path, "31")
    exporter.remove("signal_backlog", namespace=namespace)
    now_told(asking, path, empty, namespace)


def now_told(asking: Asker, path: str, expected: str, namespace: str) -> None:
    def told() -> bool:
        seen = value(asking, path)
        assert seen == expected or (len(expected) > 2 and expected in seen)
        return True

    until(told, what=f"{expected!r} in {namespace}")
