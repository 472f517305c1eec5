"""What is kept between requests serves 50,000 autoscalers, and has a bound."""

from adapter.answer.query_cache import LastGoodValues, QueryCache
from adapter.model import (
    ExternalMetricRequest,
    MetricQuery,
    NamedRule,
    Offer,
    Plan,
    Reaction,
    Rows,
    SignalContract,
)
from wire.api.labels import EVERYTHING

AUTOSCALERS = 50_000
CONTRACT = SignalContract(on_empty=Reaction.FAIL, on_nan=Reaction.FAIL, on_partial=Reaction.FAIL)
OFFER = Offer(NamedRule(path="metrics[0]", name="m", query="q", contract=CONTRACT))


def request(number: int) -> ExternalMetricRequest:
    return ExternalMetricRequest(namespace=f"n{number}", metric="m", selector=EVERYTHING)


def query(text: str) -> MetricQuery:
    return MetricQuery(plan=Plan(text), rows=Rows(), contract=CONTRACT, rule="metrics[0]")


def hits_in_the_second_round(cache: QueryCache, count: int, text: str) -> int:
    requests = [request(number) for number in range(count)]
    for each in requests:
        cache.keep(each, OFFER, (), query(text))
    return sum(cache.get(each, OFFER) is not None for each in requests)


def test_every_autoscaler_finds_its_query_again():
    text = "q" * 300
    assert hits_in_the_second_round(QueryCache(), AUTOSCALERS, text) == AUTOSCALERS


def test_long_queries_have_a_bound_in_bytes_and_the_oldest_are_dropped_first():
    cache = QueryCache(bytes_max=1_000_000)
    assert 0 < hits_in_the_second_round(cache, 100, "q" * 50_000) < 20
    assert cache.get(request(99), OFFER) is not None
    assert cache.get(request(0), OFFER) is None


def test_a_query_larger_than_the_bound_is_not_kept():
    cache = QueryCache(bytes_max=1_000)
    assert hits_in_the_second_round(cache, 1, "q" * 2_000) == 0


def test_a_query_is_not_used_for_another_offer_or_other_objects():
    cache = QueryCache()
    cache.keep(request(1), OFFER, ("a",), query("q"))
    assert cache.get(request(1), OFFER, ("a",))
    assert cache.get(request(1), OFFER, ("a", "b")) is None
    assert cache.get(request(1), Offer(OFFER.rule), ("a",)) is None


def test_every_autoscaler_finds_its_last_good_value_again():
    values: LastGoodValues[int] = LastGoodValues()
    for number in range(AUTOSCALERS):
        values.keep(f"metric {number}", number)
    assert [values.get(f"metric {number}", -1) for number in range(AUTOSCALERS)] == list(
        range(AUTOSCALERS)
    )
