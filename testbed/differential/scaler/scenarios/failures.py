"""PURE  Metrics that cannot be had, several metrics that disagree, and a target that cannot be read or written."""

from typing import Any

from testbed.differential.scaler.scenarios.building import (
    average,
    container_resource,
    external,
    object_metric,
    of_pods,
    of_queue,
    of_service,
    pods_metric,
    resource,
    scenario,
    situation,
    spec,
    then,
    total,
    usage,
    utilization,
)
from testbed.differential.scaler.situation import Answers, Refusal, Scenario

REFUSALS = {
    "404": Refusal(code=404, reason="NotFound", message="no such metric"),
    "500": Refusal(),
    "503": Refusal(code=503, reason="ServiceUnavailable", message="the backend is away"),
    "403": Refusal(code=403, reason="Forbidden", message="you may not"),
    "404 without words": Refusal(code=404, message="404 page not found", plain=True),
    "500 without words": Refusal(code=500, message="boom", plain=True),
    "503 without words": Refusal(code=503, message="service unavailable", plain=True),
}
EVERY_METRIC = {
    "resource utilization": resource("cpu", utilization(50)),
    "resource average": resource("memory", average("1Gi")),
    "container utilization": container_resource("cpu", "app", utilization(50)),
    "container average": container_resource("memory", "app", average("1Gi")),
    "pods": pods_metric("rps", "10"),
    "object value": object_metric("rps", total("10")),
    "object average": object_metric("rps", average("10")),
    "external value": external("queue", total("10")),
    "external average": external("queue", average("10")),
}


def _answered(refusal: Refusal) -> Answers:
    return {"pods/*/rps": refusal, "services/front/rps": refusal, "external/queue": refusal}


def _each_metric() -> list[Scenario]:
    """Every kind of metric with a refusal, and with an empty list."""
    refusals = list(REFUSALS.items())
    found = []
    for index, (name, metric) in enumerate(EVERY_METRIC.items()):
        word, refusal = refusals[index % len(refusals)]
        first = situation(spec(metric), answers=_answered(refusal), measured=refusal)
        empty: Answers = {"pods/*/rps": (), "services/front/rps": (), "external/queue": ()}
        steps = (first, then(first, answers=empty, measured=()))
        found.append(scenario("failure", f"{name} answered with {word}, then with nothing", *steps))
    return found


def _each_refusal() -> list[Scenario]:
    metrics = (
        resource("cpu", utilization(50)),
        pods_metric("rps", "10"),
        object_metric("rps", total("10")),
        external("queue", total("10")),
    )
    return [
        scenario(
            "failure",
            f"every API answers {word}",
            situation(spec(*metrics), answers=_answered(refusal), measured=refusal),
        )
        for word, refusal in REFUSALS.items()
    ]


def _several() -> list[Scenario]:
    queue, rate = external("queue", total("100")), object_metric("rps", total("100"))
    rps = pods_metric("rps", "10")
    three = spec(queue, rate, rps)
    many = situation(
        three,
        answers={
            **of_queue("queue", "130"),
            **of_service("rps", "260"),
            **of_pods("rps", *["5"] * 3),
        },
    )
    return [
        scenario(
            "several",
            "the greatest proposal counts",
            many,
            then(
                many,
                answers={
                    **of_queue("queue", "20"),
                    **of_service("rps", "10"),
                    **of_pods("rps", *["1"] * 3),
                },
            ),
        ),
        scenario(
            "several",
            "equal proposals name the first",
            situation(
                spec(queue, rate), answers={**of_queue("queue", "200"), **of_service("rps", "200")}
            ),
        ),
        scenario(
            "several",
            "proposals of nothing name the last",
            situation(
                spec(queue, rate), answers={**of_queue("queue", "0"), **of_service("rps", "0")}
            ),
        ),
    ]


def _several_and_a_failure() -> list[Scenario]:
    queue, rate = external("queue", total("100")), object_metric("rps", total("100"))
    three = spec(queue, rate, pods_metric("rps", "10"))
    many = situation(three, answers=of_queue("queue", "130"))
    low = {**of_queue("queue", "20"), **of_service("rps", "30")}
    return [
        scenario(
            "several",
            "one fails and the others want fewer",
            situation(three, answers=low),
            then(many, answers={**low, **of_pods("rps", *["1"] * 3)}),
        ),
        scenario(
            "several",
            "one fails and another wants more",
            situation(three, answers=of_service("rps", "300")),
            then(many, answers=of_queue("queue", "100")),
        ),
        scenario("several", "the first that fails owns the condition", situation(three)),
        scenario(
            "several",
            "the same metric twice",
            situation(
                spec(queue, external("queue", average("10"))), answers=of_queue("queue", "130")
            ),
        ),
        scenario(
            "several",
            "cpu and memory of one answer",
            situation(
                spec(resource("cpu", utilization(50)), resource("memory", utilization(20))),
                measured=usage("500m", "500m", "500m"),
            ),
        ),
        scenario(
            "several",
            "an outage comes and goes",
            situation(spec(queue), answers=of_queue("queue", "200")),
            then(many, spec=spec(queue), answers={}),
            then(many, spec=spec(queue), answers=of_queue("queue", "50")),
        ),
    ]


def _target() -> list[Scenario]:
    queue = spec(external("queue", total("100")))
    first = situation(queue, answers=of_queue("queue", "100"))
    more = of_queue("queue", "200")
    conflict = Refusal(code=409, reason="Conflict", message="the object has been modified")

    def refs(**changes: Any) -> dict[str, str]:
        return {
            "apiVersion": "testbed.loadline.io/v1",
            "kind": "Scripted",
            "name": "web",
            **changes,
        }

    return [
        *[
            scenario(
                "target", f"reading it answers {word}", then(first, replicas=3, get=refusal), first
            )
            for word, refusal in REFUSALS.items()
        ],
        *[
            scenario(
                "target",
                f"writing it answers {word}",
                then(first, replicas=3, answers=more, put=(refusal,)),
            )
            for word, refusal in REFUSALS.items()
        ],
        scenario(
            "target",
            "writing it conflicts once",
            then(first, replicas=3, answers=more, put=(conflict,)),
        ),
        scenario(
            "target",
            "writing it conflicts again and again",
            then(first, replicas=3, answers=more, put=(conflict,) * 5),
        ),
        scenario(
            "target",
            "only the group of its version counts",
            situation(queue, ref=refs(apiVersion="testbed.loadline.io/v7"), answers=more),
        ),
        scenario(
            "target",
            "a kind that nobody serves",
            situation(queue, ref=refs(kind="Unserved"), answers=more),
        ),
        scenario(
            "target",
            "a group that nobody serves",
            situation(queue, ref=refs(apiVersion="example.com/v1"), answers=more),
        ),
        scenario(
            "target",
            "a kind without a scale",
            situation(
                queue,
                ref={"apiVersion": "batch/v1", "kind": "Job", "name": "web"},
                replicas=None,
                answers=more,
            ),
        ),
    ]


def failure_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return (*_each_metric(), *_each_refusal(), *_several(), *_several_and_a_failure(), *_target())
