"""The signal contract over several answers: last good values, and the true age of what is answered."""

import msgspec
import pytest

from adapter.answer import ActiveConfiguration, Answers
from adapter.config.signal_block import DISCOVERED_CUSTOM
from adapter.config.signal_block import NAMED as OF_NAMED
from adapter.model import (
    PODS,
    Cost,
    CustomMetricRequest,
    DiscoveryRule,
    ExternalMetricRequest,
    KubeObject,
    MetricEntry,
    NamedRule,
    Offer,
    Reaction,
    ResourceLabels,
    SignalContract,
)
from tests.fakes.adapter import FakeCatalog, FakeMapping, FakeObjects, FakePrometheus, vector
from wire.api import labels
from wire.api.status import StatusError

FAIL = SignalContract(on_empty=Reaction.FAIL, on_nan=Reaction.FAIL, on_partial=Reaction.FAIL)
REQUESTS = MetricEntry(PODS, True, "requests")


def contract(**changes: object) -> SignalContract:
    return msgspec.structs.replace(FAIL, **changes)


def custom(name: str, selector: str = "") -> CustomMetricRequest:
    return CustomMetricRequest(
        resource=PODS,
        name=name,
        metric="requests",
        namespace="shop",
        selector=labels.parse(""),
        metric_selector=labels.parse(selector),
    )


def external() -> ExternalMetricRequest:
    return ExternalMetricRequest(namespace="shop", metric="queue", selector=labels.parse(""))


def answers(prometheus: FakePrometheus, catalog: FakeCatalog) -> Answers:
    return Answers(
        evaluator=prometheus,
        objects=FakeObjects({}),
        mapping=FakeMapping(),
        active=ActiveConfiguration(catalog=catalog),
        now=lambda: 1_000.0,
        monotonic=lambda: 1_000.0,
    )


async def refusal(asking) -> StatusError:
    with pytest.raises(StatusError) as refused:
        await asking
    return refused.value


async def test_the_last_good_value_is_used_for_as_long_as_the_contract_says():
    kept = contract(on_empty=Reaction.LAST, last_for_seconds=60.0)
    rule = NamedRule(
        path="metrics[0]",
        name="requests",
        query="q",
        describes=PODS,
        object_label="pod",
        namespace_label="namespace",
        contract=kept,
    )
    row = {"namespace": "shop", "pod": "web-1"}
    prometheus = FakePrometheus({"q": vector((row, 3.0), at_seconds=1_000.0)})
    requested = answers(prometheus, FakeCatalog({REQUESTS: Offer(rule)}))
    await requested.custom(custom("web-1"))
    prometheus.answers["q"] = vector(at_seconds=1_050.0)
    requested._monotonic = lambda: 1_050.0
    assert [item.value for item in (await requested.custom(custom("web-1"))).items] == ["3"]
    requested._monotonic = lambda: 1_061.0
    assert (await refusal(requested.custom(custom("web-1")))).code == 500


async def test_a_source_that_fell_silent_is_stale_although_the_query_still_answers():
    kept = contract(stale_after_seconds=60.0)
    rule = NamedRule(path="metrics[0]", name="queue", query="sum(jobs)", contract=kept)
    taken = 'max by () (timestamp({__name__="jobs"}))'
    prometheus = FakePrometheus(
        {
            "sum(jobs)": vector(({}, 7.0), at_seconds=1_000.0),
            taken: vector(({}, 940.0), at_seconds=1_000.0),
        }
    )
    requested = answers(prometheus, FakeCatalog({}, {"queue": Offer(rule)}))
    [item] = (await requested.external(external())).items
    assert (item.value, item.timestamp.timestamp()) == ("7", 940.0)
    prometheus.answers[taken] = vector(({}, 939.0), at_seconds=1_000.0)
    refused = await refusal(requested.external(external()))
    assert refused.code == 500
    assert "the newest sample is 61s old" in refused.message


@pytest.mark.parametrize("ahead_seconds", [-300.0, 0.0, 60.0, 3_600.0])
@pytest.mark.parametrize("stepped_seconds", [-3_600.0, 0.0, 3_600.0])
@pytest.mark.parametrize(("later_seconds", "code"), [(59.0, 200), (61.0, 500)])
@pytest.mark.parametrize("kind", ["custom", "external"])
async def test_a_last_good_value_is_used_for_as_long_whatever_the_clocks_say(
    kind, later_seconds, code, stepped_seconds, ahead_seconds
):
    kept = contract(on_empty=Reaction.LAST, last_for_seconds=60.0)
    on_pods = {"describes": PODS, "object_label": "pod", "namespace_label": "namespace"}
    name, more = ("requests", on_pods) if kind == "custom" else ("queue", {})
    offer = Offer(NamedRule(path="metrics[0]", name=name, query="q", contract=kept, **more))
    row = {"namespace": "shop", "pod": "web-1"}
    value = vector((row, 3.0), at_seconds=1_000.0 + ahead_seconds)
    value = msgspec.structs.replace(value, ahead_seconds=ahead_seconds)
    prometheus = FakePrometheus({"q": value})
    requested = answers(prometheus, FakeCatalog({REQUESTS: offer}, {"queue": offer}))

    def request():
        if kind == "custom":
            return requested.custom(custom("web-1"))
        return requested.external(external())

    await request()
    wall_seconds = 1_000.0 + later_seconds + stepped_seconds
    prometheus.answers["q"] = vector(at_seconds=wall_seconds)
    requested._now = lambda: wall_seconds
    requested._monotonic = lambda: 1_000.0 + later_seconds
    if code == 200:
        assert [item.value for item in (await request()).items] == ["3"]
        return
    assert (await refusal(request())).code == code


@pytest.mark.parametrize("stepped_seconds", [-3_600.0, 0.0, 3_600.0])
async def test_a_last_good_value_is_used_for_as_long_after_the_clock_of_prometheus_was_stepped(
    stepped_seconds,
):
    kept = contract(on_empty=Reaction.LAST, last_for_seconds=60.0)
    on_pods = {"describes": PODS, "object_label": "pod", "namespace_label": "namespace"}
    rule = NamedRule(path="metrics[0]", name="requests", query="q", contract=kept, **on_pods)
    of = {name: {"namespace": "shop", "pod": name} for name in ("web-1", "web-2")}
    prometheus = FakePrometheus({"q": vector((of["web-1"], 1.0), (of["web-2"], 2.0))})
    requested = answers(prometheus, FakeCatalog({REQUESTS: Offer(rule)}))
    await requested.custom(custom("web-1"))
    for later_seconds, is_used in ((59.0, True), (61.0, False)):
        left = vector((of["web-2"], 2.0), at_seconds=1_000.0 + later_seconds + stepped_seconds)
        prometheus.answers["q"] = msgspec.structs.replace(left, ahead_seconds=stepped_seconds)
        requested._monotonic = lambda later_seconds=later_seconds: 1_000.0 + later_seconds
        if is_used:
            [item] = (await requested.custom(custom("web-1"))).items
            assert item.value == "1"
        else:
            assert (await refusal(requested.custom(custom("web-1")))).code == 500


async def test_a_value_of_the_future_is_used_from_now_on_and_no_longer():
    kept = contract(on_empty=Reaction.LAST, last_for_seconds=60.0)
    rule = NamedRule(path="metrics[0]", name="queue", query="q", contract=kept)
    future = vector(({}, 3.0), at_seconds=5_000.0)
    prometheus = FakePrometheus({"q": future})
    requested = answers(prometheus, FakeCatalog({}, {"queue": Offer(rule)}))
    await requested.external(external())
    prometheus.answers["q"] = vector()
    requested._monotonic = lambda: 1_061.0
    assert (await refusal(requested.external(external()))).code == 500


@pytest.mark.parametrize("ahead_seconds", [-300.0, 0.0, 60.0, 3_600.0])
@pytest.mark.parametrize(("age_seconds", "code"), [(59.0, 200), (61.0, 500)])
async def test_the_age_of_a_sample_is_by_the_clock_of_prometheus(ahead_seconds, age_seconds, code):
    kept = contract(stale_after_seconds=60.0)
    rule = NamedRule(path="metrics[0]", name="queue", query="sum(jobs)", contract=kept)
    taken = 'max by () (timestamp({__name__="jobs"}))'
    value = vector(({}, 7.0), at_seconds=1_000.0)
    value = msgspec.structs.replace(value, ahead_seconds=ahead_seconds)
    ages = vector(({}, 1_000.0 - age_seconds), at_seconds=1_000.0)
    prometheus = FakePrometheus({"sum(jobs)": value, taken: ages})
    requested = answers(prometheus, FakeCatalog({}, {"queue": Offer(rule)}))
    requested._monotonic = lambda: 1_000.0 - ahead_seconds
    if code == 200:
        assert (await requested.external(external())).items
    else:
        refused = await refusal(requested.external(external()))
        assert "the newest sample is 61s old" in refused.message


async def test_a_value_whose_age_some_stores_do_not_say_is_partial():
    kept = contract(stale_after_seconds=60.0)
    rule = NamedRule(path="metrics[0]", name="queue", query="sum(jobs)", contract=kept)
    taken = 'max by () (timestamp({__name__="jobs"}))'
    ages = msgspec.structs.replace(vector(at_seconds=1_000.0), partial=True)
    prometheus = FakePrometheus({"sum(jobs)": vector(({}, 7.0), at_seconds=1_000.0), taken: ages})
    requested = answers(prometheus, FakeCatalog({}, {"queue": Offer(rule)}))
    refused = await refusal(requested.external(external()))
    assert "some stores did not answer" in refused.message


async def test_an_answer_left_out_does_not_replace_the_last_good_one():
    kept = contract(on_empty=Reaction.OMIT, on_nan=Reaction.LAST, last_for_seconds=60.0)
    rule = NamedRule(path="metrics[0]", name="queue", query="q", contract=kept)
    prometheus = FakePrometheus({"q": vector(({}, 7.0), at_seconds=1_000.0)})
    requested = answers(prometheus, FakeCatalog({}, {"queue": Offer(rule)}))
    for row, expected in ((({}, 7.0), ["7"]), (None, []), (({}, float("nan")), ["7"])):
        prometheus.answers["q"] = vector(*([row] if row else []), at_seconds=1_000.0)
        items = (await requested.external(external())).items
        assert [item.value for item in items] == expected


async def test_a_value_of_another_query_before_a_reload_is_not_used():
    kept = contract(on_empty=Reaction.LAST, last_for_seconds=60.0)
    former = NamedRule(path="metrics[0]", name="queue", query="bytes", contract=kept)
    prometheus = FakePrometheus({"bytes": vector(({}, 7e9)), "jobs": vector()})
    requested = answers(prometheus, FakeCatalog({}, {"queue": Offer(former)}))
    await requested.external(external())
    prometheus.answers["bytes"] = vector()
    [former_value] = (await requested.external(external())).items
    assert former_value.value == "7G"
    new = msgspec.structs.replace(former, query="jobs")
    requested.active = ActiveConfiguration(catalog=FakeCatalog({}, {"queue": Offer(new)}))
    assert (await refusal(requested.external(external()))).code == 500


NAMED = NamedRule(
    path="metrics[0]",
    name="requests",
    query="q",
    describes=PODS,
    object_label="pod",
    namespace_label="namespace",
    contract=contract(on_empty=Reaction.LAST, last_for_seconds=60.0),
)
DISCOVERED = DiscoveryRule(
    path="rules[0]",
    external=False,
    series_query="q",
    resources=ResourceLabels(template="<<.Resource>>"),
    metrics_query="<<.Series>>",
    contract=NAMED.contract,
)
OVERRIDDEN = ResourceLabels(template="<<.Resource>>", overrides=(("instance", PODS),))


@pytest.mark.parametrize(
    ("former", "new"),
    [
        pytest.param(DISCOVERED, {"resources": OVERRIDDEN}, id="resources"),
        pytest.param(NAMED, {"object_label": "instance"}, id="objectLabel"),
        pytest.param(NAMED, {"namespace_label": "exported_namespace"}, id="namespaceLabel"),
    ],
)
async def test_a_value_of_other_labels_before_a_reload_is_not_used(former, new):
    row = {"namespace": "shop", "pod": "web-1"}
    prometheus = FakePrometheus({"q": vector((row, 3.0))})
    requested = answers(prometheus, FakeCatalog({REQUESTS: Offer(former, "q")}))
    assert [each.value for each in (await requested.custom(custom("web-1"))).items] == ["3"]
    prometheus.answers["q"] = vector()
    assert [each.value for each in (await requested.custom(custom("web-1"))).items] == ["3"]
    reloaded = Offer(msgspec.structs.replace(former, **new), "q")
    requested.active = ActiveConfiguration(catalog=FakeCatalog({REQUESTS: reloaded}))
    assert (await refusal(requested.custom(custom("web-1")))).code == 500


@pytest.mark.parametrize("selector", ["", "code=500"])
async def test_last_good_values_are_kept_by_metric_selector_and_only_while_they_may_be_used(
    selector,
):
    kept = contract(on_empty=Reaction.LAST, last_for_seconds=60.0)
    rule = NamedRule(
        path="metrics[0]",
        name="requests",
        query="q",
        describes=PODS,
        object_label="pod",
        contract=kept,
    )
    queries = {"": "q", "code=500": 'q{code="500"}'}
    query = queries[selector]
    measured = vector(({"pod": "web-1"}, 3.0), at_seconds=1_000.0)
    prometheus = FakePrometheus(dict.fromkeys(queries.values(), measured))
    requested = answers(prometheus, FakeCatalog({REQUESTS: Offer(rule)}))
    await requested.custom(custom("web-1", selector))
    [(_, key)] = requested._last_custom._kept._kept
    assert set(requested._last_custom.get(key)) == {"web-1"}
    for each in queries:
        await requested.custom(custom("web-1", each))
    assert len(requested._last_custom._kept) == 2
    prometheus.answers[query] = vector(({"pod": "web-2"}, 4.0), at_seconds=1_061.0)
    requested._monotonic = lambda: 1_061.0
    await requested.custom(custom("web-2", selector))
    assert set(requested._last_custom.get(key)) == {"web-2"}


async def test_a_zero_put_in_by_the_contract_is_never_a_last_good_value():
    kept = contract(on_empty=Reaction.LAST, on_nan=Reaction.ZERO, last_for_seconds=60.0)
    rule = NamedRule(
        path="metrics[0]",
        name="requests",
        query="q",
        describes=PODS,
        object_label="pod",
        contract=kept,
    )
    queue = NamedRule(path="metrics[1]", name="queue", query="e", contract=kept)
    nan = vector(({"pod": "web-1"}, float("nan")), at_seconds=1_000.0)
    prometheus = FakePrometheus({"q": nan, "e": vector(({}, float("nan")), at_seconds=1_000.0)})
    served = answers(prometheus, FakeCatalog({REQUESTS: Offer(rule)}, {"queue": Offer(queue)}))
    assert [item.value for item in (await served.custom(custom("web-1"))).items] == ["0"]
    assert [item.value for item in (await served.external(external())).items] == ["0"]
    prometheus.answers.update(q=vector(at_seconds=1_000.0), e=vector(at_seconds=1_000.0))
    assert (await refusal(served.custom(custom("web-1")))).code == 500
    assert (await refusal(served.external(external()))).code == 500


async def test_a_new_pod_does_not_hide_the_others_when_the_contract_falls_back():
    kept = contract(on_empty=Reaction.LAST, last_for_seconds=60.0)
    rule = NamedRule(
        path="metrics[0]",
        name="requests",
        query="q",
        describes=PODS,
        object_label="pod",
        contract=kept,
    )
    pods = [KubeObject(name=name, namespace="shop") for name in ("web-1", "web-2")]
    prometheus = FakePrometheus({"q": vector(({"pod": "web-1"}, 3.0), at_seconds=1_000.0)})
    served = Answers(
        evaluator=prometheus,
        objects=FakeObjects({PODS: pods}),
        mapping=FakeMapping(),
        active=ActiveConfiguration(catalog=FakeCatalog({REQUESTS: Offer(rule)})),
        now=lambda: 1_000.0,
        monotonic=lambda: 1_000.0,
    )
    found = await served.custom(custom("*"))
    assert [(item.described_object.name, item.value) for item in found.items] == [("web-1", "3")]


@pytest.mark.parametrize(
    ("value", "defaults", "served"),
    [
        pytest.param(0.00028, OF_NAMED, "1m", id="one request per hour"),
        pytest.param(5e-324, OF_NAMED, "1m", id="the smallest number"),
        pytest.param(0.0, OF_NAMED, "0", id="none"),
        pytest.param(-0.00028, OF_NAMED, "0", id="below zero"),
        pytest.param(0.0019, OF_NAMED, "1m", id="further digits are cut off"),
        pytest.param(0.00028, DISCOVERED_CUSTOM, "0", id="rules are as in prometheus-adapter"),
    ],
)
@pytest.mark.parametrize("kind", ["custom", "external"])
async def test_a_positive_value_of_a_named_metric_is_never_zero(kind, value, defaults, served):
    """At zero replicas, only a metric above 0 starts the target."""
    on_pods = {"describes": PODS, "object_label": "pod", "namespace_label": "namespace"}
    name, more = ("requests", on_pods) if kind == "custom" else ("queue", {})
    offer = Offer(NamedRule(path="metrics[0]", name=name, query="q", contract=defaults, **more))
    row = {"namespace": "shop", "pod": "web-1"}
    prometheus = FakePrometheus({"q": vector((row, value), at_seconds=1_000.0)})
    requested = answers(prometheus, FakeCatalog({REQUESTS: offer}, {"queue": offer}))
    if kind == "custom":
        [item] = (await requested.custom(custom("web-1"))).items
    else:
        [item] = (await requested.external(external())).items
    assert item.value == served


@pytest.mark.parametrize(("age_seconds", "code"), [(59.0, 200), (61.0, 500)])
async def test_the_time_that_a_query_took_is_part_of_the_age_of_its_samples(age_seconds, code):
    """Prometheus reads its clock before it evaluates."""
    kept = contract(stale_after_seconds=60.0)
    rule = NamedRule(path="metrics[0]", name="queue", query="sum(jobs)", contract=kept)
    taken = 'max by () (timestamp({__name__="jobs"}))'
    value = vector(({}, 7.0), at_seconds=975.0)
    slow = {"evaluated_at_seconds": 1_000.0, "cost": Cost(seconds=25.0)}
    value = msgspec.structs.replace(value, **slow)
    ages = vector(({}, 1_000.0 - age_seconds), at_seconds=975.0)
    prometheus = FakePrometheus({"sum(jobs)": value, taken: ages})
    requested = answers(prometheus, FakeCatalog({}, {"queue": Offer(rule)}))
    if code == 200:
        assert (await requested.external(external())).items
    else:
        assert (await refusal(requested.external(external()))).code == code
