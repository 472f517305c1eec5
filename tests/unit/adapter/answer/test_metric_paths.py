"""Requests and their queries are kept for 50,000 autoscalers, within a bound."""

import gc
from collections.abc import Mapping

import pytest

from adapter.answer import ActiveConfiguration, KnownRequest, MetricPaths
from adapter.answer.last_good_values import LastGoodValues, last_good_values
from adapter.answer.query_plan import external_metric_query
from adapter.documents.listoptions import PARAMETERS_MAX
from adapter.model import (
    DiscoveryRule,
    ExternalValue,
    MetricQuery,
    NamedRule,
    ObjectValue,
    Offer,
    Plan,
    Reaction,
    ResourceLabels,
    Rows,
    SignalContract,
)
from tests.fakes.adapter import FakeCatalog, FakeMapping
from tests.traced_memory import traced_memory
from wire.api import custom_metrics, external_metrics, labels
from wire.api.status import StatusError

AUTOSCALERS = 50_000
CONTRACT = SignalContract(on_empty=Reaction.FAIL, on_nan=Reaction.FAIL, on_partial=Reaction.FAIL)
OFFER = Offer(NamedRule(path="metrics[0]", name="m", query="q", contract=CONTRACT))
DISCOVERED = Offer(
    DiscoveryRule(
        path="rules[0]",
        external=True,
        series_query="load",
        resources=ResourceLabels(template="<<.Resource>>"),
        metrics_query="sum(<<.Series>>{<<.LabelMatchers>>})",
        contract=CONTRACT,
    ),
    "load",
)
ACTIVE = ActiveConfiguration(catalog=FakeCatalog(), groups=(external_metrics.GROUP,))


def read(**settings: int) -> MetricPaths:
    return MetricPaths(lambda: ACTIVE, **settings)


def known(paths: MetricPaths, number: int, selector: str = "app%3Dweb") -> KnownRequest:
    path = f"namespaces/n{number}/queue_length"
    return paths.known(external_metrics.GROUP, "v1beta1", path, f"labelSelector={selector}")


def query(text: str) -> MetricQuery:
    return MetricQuery(plan=Plan(text), rows=Rows(), contract=CONTRACT, rule="metrics[0]")


def test_every_autoscaler_finds_its_request_and_its_query_again():
    paths = read()
    first = [known(paths, number) for number in range(AUTOSCALERS)]
    for each in first:
        each.keep(OFFER, (), query("q" * 300))
    again = [known(paths, number) for number in range(AUTOSCALERS)]
    assert all(one is other for one, other in zip(first, again, strict=True))
    assert all(each.query(OFFER) is not None for each in again)


def test_requests_have_a_bound_in_bytes_and_the_oldest_are_dropped_first():
    paths = read(bytes_max=100_000)
    first = known(paths, 0)
    for number in range(1, 1_000):
        last = known(paths, number)
    assert len(paths) < 150
    assert known(paths, 999) is last
    assert known(paths, 0) is not first


def test_the_queries_count_for_the_bound():
    paths = read(bytes_max=1_000_000)
    for number in range(100):
        known(paths, number).keep(OFFER, (), query("q" * 50_000))
    assert 0 < len(paths) < 20
    assert known(paths, 99).query(OFFER) is not None


def test_a_request_longer_than_the_bound_is_read_and_not_kept():
    paths = read(bytes_max=50_000)
    selector = ",".join(f"l{number}%3Dv" for number in range(9_000))
    assert known(paths, 1, selector).request.metric == "queue_length"
    assert len(paths) == 0


def test_the_requirements_of_a_selector_count_for_the_bound():
    """One takes 190 bytes beside its text."""
    paths = read(bytes_max=3_000_000)
    selector = ",".join(f"l{number}%3Dv" for number in range(1_000))
    for number in range(20):
        known(paths, number, selector)
        known(paths, number, selector.replace(",", "%2C"))
    assert 5 <= len(paths) <= 3_000_000 / 190_000


@pytest.mark.deviation("selector-size")
def test_a_query_with_too_many_parameters_is_refused_before_it_is_read():
    paths = read()
    assert known(paths, 1, "a%3Db" + "&x" * (PARAMETERS_MAX - 1)).request
    with pytest.raises(StatusError, match="more than 100 parameters") as refused:
        known(paths, 1, "a%3Db" + "&x" * PARAMETERS_MAX)
    assert refused.value.code == 400


WIDEST = "a" * 8_000 + "\U0001f600"


@pytest.mark.parametrize(
    ("path", "query_string"),
    [
        pytest.param("queue_length", "labelSelector=q%3Dv", id="a label"),
        pytest.param("queue_length", "x=", id="no selector"),
        pytest.param(
            "queue_length",
            f"labelSelector={','.join(f'l{number}!%3Dv' for number in range(100))}",
            id="labels",
        ),
        pytest.param(
            "queue_length",
            f"labelSelector=x,q+in+({','.join(map(str, range(100, 999)))}),q",
            id="short values",
        ),
        pytest.param(WIDEST, "", id="a path with a wide character"),
        pytest.param("queue_length", f"x={WIDEST}", id="a query with a wide character"),
    ],
)
def test_a_request_takes_no_more_memory_than_is_counted(path, query_string):
    paths = read()
    encoded = [
        (f"namespaces/n{number}/{path}".encode(), f"{query_string}{number}".encode())
        for number in range(50)
    ]

    def keep(encoded_path: bytes, encoded_query: bytes) -> None:
        texts = encoded_path.decode(), encoded_query.decode()
        one = paths.known(external_metrics.GROUP, "v1beta1", *texts)
        one.keep(OFFER, (), external_metric_query(one.request, DISCOVERED, FakeMapping()))

    keep(b"namespaces/n/first", b"labelSelector=q%3Dv")
    counted_before = paths._kept.size_bytes
    with traced_memory() as memory:
        for each in encoded:
            keep(*each)
        labels._kept.cache_clear()
        kept_bytes = memory.kept_bytes
    counted = paths._kept.size_bytes - counted_before
    assert len(paths) == 1 + len(encoded)
    assert kept_bytes <= counted <= 2 * kept_bytes


def test_a_request_that_is_dropped_is_freed_at_once():
    """Its text may have half a megabyte, and the collector of cycles counts objects, not bytes."""
    paths = read(bytes_max=300_000)
    gc.disable()
    try:
        with traced_memory() as memory:
            for number in range(50):
                known(paths, number, "a&x=" + "b" * 100_000)
            kept_bytes = memory.kept_bytes
    finally:
        gc.enable()
    assert kept_bytes < 500_000


def test_a_query_longer_than_the_bound_is_not_kept():
    paths = read(bytes_max=3_000)
    known(paths, 1).keep(OFFER, (), query("q" * 4_000))
    assert known(paths, 1).query(OFFER) is None


def test_an_invalid_request_is_refused_every_time():
    paths = read()
    for _ in range(2):
        with pytest.raises(StatusError):
            known(paths, 1, "a%3D%3D%3Db")
    assert len(paths) == 0


def test_a_query_is_not_used_for_another_offer_or_other_objects():
    one = known(read(), 1)
    one.keep(OFFER, ("a",), query("q"))
    assert one.query(OFFER, ("a",))
    assert one.query(OFFER, ("a", "b")) is None
    assert one.query(Offer(OFFER.rule), ("a",)) is None


def test_an_escaped_path_is_the_same_request_as_a_decoded_one():
    paths = read()
    where = f"/apis/{external_metrics.GROUP}/v1beta1/namespaces/shop"
    decoded = paths.of_path(f"{where}/queue length", "labelSelector=a%3Db")
    assert paths.of_url(f"{where}/queue%20length?labelSelector=a%3Db") is decoded


@pytest.mark.parametrize(
    "path",
    [
        f"/apis/{custom_metrics.GROUP}/v1beta1/namespaces/n/pods/p/m",
        f"/apis/{external_metrics.GROUP}/v1beta2/namespaces/n/m",
        f"/apis/{external_metrics.GROUP}/v1beta1",
        "/api/v1/pods",
    ],
)
def test_a_path_that_is_not_served_does_not_exist(path):
    with pytest.raises(StatusError) as refused:
        read().of_path(path, "")
    assert refused.value.code == 404


def test_every_autoscaler_finds_its_last_good_value_again():
    values = LastGoodValues[tuple[ExternalValue, ...]](last_good_values(), ())
    for number in range(AUTOSCALERS):
        values.keep(f"metric {number}", rows(number))
    found = [values.get(f"metric {number}")[0].value_milli for number in range(AUTOSCALERS)]
    assert found == list(range(AUTOSCALERS))


def test_every_autoscaler_finds_the_last_good_values_of_two_pods_again():
    values = LastGoodValues[Mapping[str, ObjectValue]](last_good_values(), {})
    keys = [f"{number:032d}" for number in range(AUTOSCALERS)]
    for key in keys:
        values.keep(key, objects(2))
    assert all(len(values.get(key)) == 2 for key in keys)


def test_last_good_values_have_one_bound_for_all_and_a_list_counts_with_each_of_its_values():
    kept = last_good_values(bytes_max=1_000_000)
    external = LastGoodValues[tuple[ExternalValue, ...]](kept, ())
    custom = LastGoodValues[Mapping[str, ObjectValue]](kept, {})
    for number in range(100):
        external.keep(f"m{number}", rows(*range(100)))
        custom.keep(f"m{number}", objects(100))
    assert 20 < len(kept) < 60
    assert kept.size_bytes <= 1_000_000
    assert len(external.get("m99")) == len(custom.get("m99")) == 100
    custom.keep("m99", objects(10_000))
    assert custom.get("m99") == {}


def test_a_last_good_value_counts_with_each_of_its_labels():
    kept = last_good_values(bytes_max=1_000_000)
    external = LastGoodValues[tuple[ExternalValue, ...]](kept, ())
    labels = {f"label_{number}": "x" * 100 for number in range(1_000)}
    for number in range(100):
        row = ExternalValue(
            labels=labels, value_milli=number, timestamp_seconds=1.0, sampled_seconds=1.0
        )
        external.keep(f"m{number}", (row,))
    assert 3 < len(kept) < 6
    assert kept.size_bytes <= 1_000_000


def test_a_last_good_value_counts_with_the_width_of_its_characters():
    """Python keeps a text with one emoji in four bytes for each of its characters."""
    kept = last_good_values(bytes_max=1_000_000)
    row = ExternalValue(
        labels={"label": "\U0001f600" + "x" * 9_999},
        value_milli=1,
        timestamp_seconds=1.0,
        sampled_seconds=1.0,
    )
    LastGoodValues[tuple[ExternalValue, ...]](kept, ()).keep("metric", (row,))
    assert kept.size_bytes > 40_000


def rows(*milli: int) -> tuple[ExternalValue, ...]:
    return tuple(
        ExternalValue(labels=None, value_milli=m, timestamp_seconds=1.0, sampled_seconds=1.0)
        for m in milli
    )


def objects(count: int) -> Mapping[str, ObjectValue]:
    names = [f"pod-{number}" for number in range(count)]
    return {
        name: ObjectValue(name=name, value_milli=1, timestamp_seconds=1.0, sampled_seconds=1.0)
        for name in names
    }
