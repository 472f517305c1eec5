"""The signal contract on a real Prometheus: what a missing, invalid or old value means."""

import pytest

from testbed.waiting import until
from tests.process.adapter.conftest import AdapterClient, answers

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
def client(quick_adapter, prometheus, token, config):
    """`client(reaction)`: an adapter whose contracts react so."""

    def start(reaction: str) -> AdapterClient:
        written = CONFIGURATION.replace("REACTION", reaction)
        config.write_text(written if reaction == "last" else written.replace(", lastFor: 1h", ""))
        return AdapterClient(quick_adapter(prometheus.url), token)

    return start


def value(client: AdapterClient, path: str) -> str:
    """The one value, or the message of the refusal."""
    code, document = client.get(path)
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
    client, exporter, prometheus, namespace, reaction, expected
):
    exporter.increase("signal_jobs_total", 50, namespace=namespace)
    client = client(reaction)
    path = f"{EXTERNAL}/{namespace}/jobs_rate"
    good = until(
        lambda: (v := value(client, path)) and v[0].isdigit() and v != "0" and v, what="a rate"
    )
    exporter.remove("signal_jobs_total", namespace=namespace)

    def reacts() -> bool:
        text = value(client, path)
        # The rate over a minute goes on for a minute: it is the age that ends it.
        assert value(client, f"{path}_unbounded")[0].isdigit()
        if expected is None:
            query = f'time() - max(timestamp(signal_jobs_total{{namespace="{namespace}"}}))'
            assert not prometheus.query(query)
            return text[0].isdigit() and text != "0"
        return text == expected or (len(expected) > 1 and expected in text)

    until(reacts, what=f"the reaction {reaction} after {good}", deadline_seconds=20)


@pytest.mark.parametrize(
    ("reaction", "empty", "nan"),
    [
        pytest.param("fail", "yields no row", "the value is nan", id="fail"),
        pytest.param("zero", "0", "0", id="zero"),
        pytest.param("last", "31", "31", id="last"),
    ],
)
def test_empty_results_and_nan_are_handled_as_the_contract_says(
    client, exporter, namespace, reaction, empty, nan
):
    client = client(reaction)
    path = f"{EXTERNAL}/{namespace}/backlog"
    exporter.set("signal_backlog", 31, namespace=namespace)
    answers(client, path, "31")
    exporter.set("signal_backlog", float("nan"), namespace=namespace)
    now_reported(client, path, nan, namespace)
    exporter.set("signal_backlog", 31, namespace=namespace)
    answers(client, path, "31")
    exporter.remove("signal_backlog", namespace=namespace)
    now_reported(client, path, empty, namespace)


def now_reported(client: AdapterClient, path: str, expected: str, namespace: str) -> None:
    def text() -> bool:
        seen = value(client, path)
        assert seen == expected or (len(expected) > 2 and expected in seen)
        return True

    until(text, what=f"{expected!r} in {namespace}")
