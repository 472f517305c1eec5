"""Ten typical situations, each explained in plain words."""

import msgspec
import pytest

from scaler.algorithm.decision import NotNeeded, Rescaled, RescaleFailed
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Observed, ScaleUnavailable
from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain, summarize
from scaler.api.autoscaler import Behavior
from scaler.api.extension_spec import Suspend
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    at_most,
    autoscaler,
    average,
    decided,
    events,
    external,
    observed,
    pod,
    recommended,
    replaced,
    resource,
    rules,
    samples,
    spec,
    utilization,
)

GONE = MetricFailed("no metrics returned from external metrics API")


def queue(length):
    return (ExternalValues((length * 1000,)),)


def derived(seen, readings, *, memory=None, actuation=None, **pods):
    decision = decided(seen, readings, memory=memory or recommended((1, 900)), **pods)
    return settle(decision, actuation or NotNeeded(), NOW).derivation


def by_policy():
    behavior = Behavior(scale_up=rules(at_most("Pods", 4, 60)), scale_down=rules())
    memory = msgspec.structs.replace(recommended((1, 900)), scale_up_events=events((1, 30)))
    return derived(observed(spec(behavior=behavior), replicas=3), queue(200), memory=memory)


def with_unready_pods():
    target_pods = (
        pod("web-0"),
        pod("web-1"),
        pod("web-2", ready="False", turned_seconds_ago=9_999),
        pod("web-3", phase="Pending"),
        pod("web-4", deleted=True),
        pod("web-5"),
    )
    seen = observed(spec(resource(utilization(50))), replicas=4)
    measured = samples({"web-0": 990, "web-1": 990, "web-2": 5, "web-4": 5})
    return derived(seen, (measured,), target_pods=target_pods)


TWO = spec(external(average("10"), name="a"), external(average("10"), name="b"))

SITUATIONS = [
    pytest.param(
        by_policy(),
        """\
shop/web goes from 3 to 6 replicas.
  - external metric queue(nil): 200 for a target of average value 10, ratio 6.67. It proposes 20 replicas.
  Rate: at most 4 pods up per 60 s from 2 allows 6: the limit is 6, so 20 becomes 6.""",
        "goes from 3 to 6 replicas: external metric queue(nil) proposes 20; limited to 6 by the scale-up rate",
        id="scale-up limited by a policy",
    ),
    pytest.param(
        derived(observed(spec(), replicas=5), queue(20), memory=recommended((5, 60))),
        """\
shop/web stays at 5 replicas.
  - external metric queue(nil): 20 for a target of average value 10, ratio 0.40. It proposes 2 replicas.
  Stabilization: the highest recommendation of the last 300 s is 5, made 60 s ago, so 2 becomes 5.""",
        "stays at 5 replicas: external metric queue(nil) proposes 2; recent recommendations hold it at 5",
        id="held by stabilization",
    ),
    pytest.param(
        derived(observed(spec(), replicas=5), queue(20), memory=Memory()),
        """\
shop/web stays at 5 replicas.
  - external metric queue(nil): 20 for a target of average value 10, ratio 0.40. It proposes 2 replicas.
  Stabilization: no earlier recommendation is known, so the current count counts as one for 300 s: 2 becomes 5.""",
        "stays at 5 replicas: external metric queue(nil) proposes 2; recent recommendations hold it at 5",
        id="held by the count of the first reconcile",
    ),
    pytest.param(
        derived(observed(TWO, replicas=5), (GONE, *queue(20))),
        """\
shop/web keeps 5 replicas: 1 of 2 metrics failed, and the others alone would scale it down, perhaps too far.
  - External metric failed: unable to get external metric shop/a/nil: no metrics returned from external metrics API.
  - external metric b(nil): 20 for a target of average value 10, ratio 0.40. It proposes 2 replicas.""",
        "keeps 5 replicas: 1 of 2 metrics failed, and the others alone would "
        "scale it down, perhaps too far",
        id="a metric is missing",
    ),
    pytest.param(
        derived(observed(spec(), replicas=3), queue(31)),
        """\
shop/web stays at 3 replicas.
  - external metric queue(nil): 31 for a target of average value 10, ratio 1.03. That is within the tolerance (0.90 to 1.10), so it keeps 3 replicas.""",
        "stays at 3 replicas: external metric queue(nil) proposes 3",
        id="within the tolerance",
    ),
    pytest.param(
        with_unready_pods(),
        """\
shop/web stays at 4 replicas.
  - cpu resource utilization (percentage of request): 99% (average 990m) for a target of 50% of the request, ratio 1.98. 2 pods ready, 1 without a sample (web-5), 2 not ready yet (web-2, web-3), 1 failed or terminating (web-4). Assuming 0 for pods without a sample and 0 for pods that are not ready, the ratio is 0.78. That would reverse the direction, so it keeps 4 replicas.""",
        "stays at 4 replicas: cpu resource utilization (percentage of request) proposes 4",
        id="pods that are not ready",
    ),
    pytest.param(
        derived(observed(spec(), replicas=3), (), controlled_by=("shop/web", "shop/other")),
        "shop/web keeps 3 replicas without reading metrics: pods by selector app=web are controlled by "
        "more than one HPA (e.g. [shop/web shop/other]).",
        "keeps 3 replicas without reading metrics: pods by selector app=web are controlled by "
        "more than one HPA (e.g. [shop/web shop/other])",
        id="an ambiguous selector",
    ),
    pytest.param(
        derived(
            observed(replaced(spec(), suspend=Suspend(direction="Both", replicas=5)), replicas=3),
            (),
            controlled_by=("shop/web", "shop/other"),
            settings=Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS),
        ),
        "shop/web goes from 3 to 5 replicas without reading metrics: pods by selector app=web are controlled by "
        "more than one HPA (e.g. [shop/web shop/other]).\n"
        "  Scaling is suspended at 5 replicas. Without that, the replica count would be 3.",
        "goes from 3 to 5 replicas without reading metrics: pods by selector app=web are controlled by "
        "more than one HPA (e.g. [shop/web shop/other])",
        id="replicas without metrics",
    ),
    pytest.param(
        derived(observed(spec(max_replicas=5), replicas=4), queue(200)),
        """\
shop/web goes from 4 to 5 replicas.
  - external metric queue(nil): 200 for a target of average value 10, ratio 5.00. It proposes 20 replicas.
  maxReplicas is 5, so 20 becomes 5.""",
        "goes from 4 to 5 replicas: external metric queue(nil) proposes 20; "
        "limited to 5 by maxReplicas",
        id="at the maximum",
    ),
    pytest.param(
        derived(observed(spec(), replicas=0), ()),
        "shop/web is disabled: its target has 0 replicas; "
        "scale the target to 1 or more to enable it again.",
        "is disabled: its target has 0 replicas; scale the target to 1 or more to enable it again",
        id="disabled at zero",
    ),
    pytest.param(
        derived(
            observed(spec(), replicas=3),
            queue(50),
            actuation=RescaleFailed("the object has been modified"),
        ),
        """\
shop/web goes from 3 to 5 replicas.
  - external metric queue(nil): 50 for a target of average value 10, ratio 1.67. It proposes 5 replicas.
  However, the scale could not be written: the object has been modified.""",
        "wanted 5 replicas, but the scale could not be written",
        id="a conflict",
    ),
    pytest.param(
        derived(observed(TWO, replicas=4), (*queue(20), *queue(60)), actuation=Rescaled()),
        """\
shop/web goes from 4 to 6 replicas.
  - external metric a(nil): 20 for a target of average value 10, ratio 0.50. It proposes 2 replicas.
  - external metric b(nil): 60 for a target of average value 10, ratio 1.50. It proposes 6 replicas.
  The largest proposal decides: 6, by external metric b(nil).""",
        "goes from 4 to 6 replicas: external metric b(nil) proposes 6",
        id="two metrics disagree",
    ),
    pytest.param(
        derived(
            Observed(
                autoscaler=autoscaler(spec()),
                scale=ScaleUnavailable(message='deployments/scale.apps "web" not found'),
            ),
            (),
        ),
        'shop/web keeps its replicas: the scale of its target cannot be read: deployments/scale.apps "web" not found',
        'keeps its replicas: the scale of its target cannot be read: deployments/scale.apps "web" not found',
        id="the target is gone",
    ),
]


@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        (
            "no metrics returned from external metrics API",
            "no metrics returned from external metrics API",
        ),
        (
            "unable to fetch metrics from external metrics API: the server could not find the metric queue for : no rule: add one",
            "not found: no rule: add one",
        ),
        (
            "unable to fetch metrics from external metrics API: Get https://10.0.0.1: connection refused",
            "Get https://10.0.0.1: connection refused",
        ),
    ],
)
def test_the_line_in_the_status_names_the_only_metric_and_why_it_failed(failure, cause):
    found = derived(observed(spec(), replicas=1), (MetricFailed(failure),))
    line = summarize(found, EXTENSIONS).summary
    assert line == f"keeps 1 replica: external metric queue failed: {cause}"


def test_the_line_in_the_status_says_that_scaling_up_is_disabled_and_not_limited():
    behavior = Behavior(scale_up=msgspec.structs.replace(rules(), select_policy="Disabled"))
    found = derived(observed(spec(behavior=behavior), replicas=3), queue(200))
    line = summarize(found, EXTENSIONS).summary
    assert line.endswith("; kept at 3, because scaling up is disabled"), line


@pytest.mark.parametrize(("derivation", "answer", "_line"), SITUATIONS)
def test_a_derivation_is_explained_in_plain_words(derivation, answer, _line):
    assert explain(derivation, EXTENSIONS) == answer


@pytest.mark.parametrize(("derivation", "_answer", "line"), SITUATIONS)
def test_the_line_in_the_status_says_the_same_in_short(derivation, _answer, line):
    assert summarize(derivation, EXTENSIONS).summary == line


def test_the_summary_has_the_numbers_that_users_need():
    found = summarize(by_policy(), EXTENSIONS)
    assert (found.proposed_replicas, found.stabilized_replicas, found.limited_by) == (
        20,
        20,
        "ScaleUpLimit",
    )


def test_every_derivation_can_be_written_as_json():
    for situation in SITUATIONS:
        derivation = situation.values[0]
        assert (
            msgspec.json.decode(msgspec.json.encode(derivation), type=type(derivation))
            == derivation
        )


@pytest.mark.parametrize(
    ("metric", "used_milli", "shown"),
    [
        (resource(average("500Mi"), name="memory"), 440401920000, "average 420Mi for a target of"),
        (resource(average("500000"), name="memory"), 1500, "average 1.5 for a target of"),
        (resource(average("2Gi"), name="memory"), 1610612737000, "average 1.5Gi for a target of"),
        (external(average("1Ti"), name="kept"), 3 * 2**50 * 1000, ": 3072Ti for a target of"),
        (external(average("500M"), name="kept"), 440401920000, ": 440401920 for a target of"),
    ],
)
def test_memory_has_the_suffixes_of_memory(metric, used_milli, shown):
    is_external = metric.type == "External"
    readings = ExternalValues((used_milli,)) if is_external else samples({"web-0": used_milli})
    found = derived(observed(spec(metric), replicas=1), (readings,), target_pods=(pod("web-0"),))
    assert shown in explain(found, EXTENSIONS)
