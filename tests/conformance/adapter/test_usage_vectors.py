"""metrics.k8s.io compared with prometheus-adapter's resource provider: the queries, and the usage of each pod and node."""

import msgspec
import pytest

from adapter.answer.query_plan import usage_query
from adapter.config import parse
from adapter.documents import render
from adapter.documents.usage_values import usage_values
from adapter.model import NODES, PODS, Evaluation, KubeObject, UsageValue
from tests.fakes.adapter import vector
from tests.fakes.adapter_vectors import read_response, vector_mapping
from wire.api.status import StatusError


class Row(msgspec.Struct):
    title: str
    configuration: str
    subjects: list[str]
    cpu: str
    memory: str
    queries: list[str]
    metrics: str


def subjects_by_namespace(row: Row) -> dict[str, list[KubeObject]]:
    found: dict[str, list[KubeObject]] = {}
    for text in row.subjects:
        namespace, slash, name = text.rpartition("/")
        labels = {"app": name} if slash else {"zone": "a"}
        found.setdefault(namespace, []).append(
            KubeObject(name=name, namespace=namespace, labels=labels)
        )
    return found


def only(evaluation: Evaluation, namespace: str) -> Evaluation:
    """What Prometheus would have answered to the query of one namespace."""
    kept = tuple(s for s in evaluation.samples if s.labels.get("namespace", namespace) == namespace)
    return msgspec.structs.replace(evaluation, samples=kept)


def lines(value: UsageValue) -> list[str]:
    """As the oracle writes them: one line per container or node."""
    if value.subject.namespace:
        pod = render.pod_metrics(value, 1_000.0)
        assert pod.timestamp is not None
        end = f"{pod.timestamp:%H:%M:%S} {pod.window}"
        start = f"{pod.metadata.namespace} {pod.metadata.name} {pod.metadata.labels['app']}"
        return [
            f"{start} {c.name} {c.usage['cpu']} {c.usage['memory']} {end}" for c in pod.containers
        ]
    node = render.node_metrics(value, 1_000.0)
    assert node.timestamp is not None
    start = f"{node.metadata.name} {node.metadata.labels['zone']}"
    return [
        f"{start} {node.usage['cpu']} {node.usage['memory']} {node.timestamp:%H:%M:%S} {node.window}"
    ]


def test_usage_is_equal_to_that_of_prometheus_adapter(rows):
    vectors = rows("usage.jsonl", Row)
    assert len(vectors) == 9
    for row in vectors:
        rules = parse(row.configuration).resource_rules
        assert rules is not None
        cpu, memory = read_response(row.cpu), read_response(row.memory)
        queries, found = [], []
        for namespace, subjects in subjects_by_namespace(row).items():
            usage = usage_query(
                rules,
                resource=PODS if namespace else NODES,
                namespace=namespace,
                names=[each.name for each in subjects],
                mapping=vector_mapping(),
            )
            queries += [usage.cpu.query, usage.memory.query]
            for value in usage_values(
                only(cpu, namespace), only(memory, namespace), usage, subjects
            ):
                found += lines(value)
        assert (row.title, sorted(queries)) == (row.title, row.queries)
        assert (row.title, sorted(found)) == (row.title, msgspec.json.decode(row.metrics))


@pytest.mark.deviation("matrix-and-string")
def test_a_result_that_is_not_a_vector_is_an_error_and_not_an_empty_list(rows):
    row = rows("usage.jsonl", Row)[0]
    rules = parse(row.configuration).resource_rules
    assert rules is not None
    usage = usage_query(rules, resource=PODS, namespace="a", names=["p1"], mapping=vector_mapping())
    scalar = read_response('{"resultType":"scalar","result":[1000,"1"]}')
    with pytest.raises(StatusError, match="must yield an instant vector"):
        usage_values(scalar, scalar, usage, [KubeObject(name="p1", namespace="a")])


@pytest.mark.deviation("values-beyond-int64")
def test_a_pod_with_an_invalid_usage_is_left_out_and_the_others_are_not(rows):
    rules = parse(rows("usage.jsonl", Row)[0].configuration).resource_rules
    assert rules is not None
    usage = usage_query(
        rules, resource=PODS, namespace="a", names=["p", "q"], mapping=vector_mapping()
    )
    cpu = vector(({"pod": "p", "container": "c"}, 1), ({"pod": "q", "container": "c"}, 1))
    memory = vector(({"pod": "p", "container": "c"}, 3e19), ({"pod": "q", "container": "c"}, 1024))
    pods = [KubeObject(name=name, namespace="a") for name in ("p", "q")]
    assert [value.subject.name for value in usage_values(cpu, memory, usage, pods)] == ["q"]


def test_usage_is_as_old_as_its_oldest_sample(rows):
    rules = parse(rows("usage.jsonl", Row)[0].configuration).resource_rules
    assert rules is not None
    usage = usage_query(rules, resource=NODES, namespace="", names=["n"], mapping=vector_mapping())
    for cpu_at, memory_at in [(10.0, 20.0), (20.0, 10.0)]:
        cpu, memory = (
            vector(({"instance": "n"}, 1), at_seconds=cpu_at),
            vector(({"instance": "n"}, 1), at_seconds=memory_at),
        )
        [value] = usage_values(cpu, memory, usage, [KubeObject(name="n")])
        assert value.timestamp_seconds == 10
