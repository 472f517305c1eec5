"""PURE  Failing metrics, several metrics that disagree, and a target that cannot be read or written."""

from typing import Any

from testbed.differential.scaler.scenario_model import ErrorResponse, Responses, Scenario
from testbed.differential.scaler.scenarios.parts import (
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
    spec,
    state,
    then,
    total,
    usage,
    utilization,
)

ERROR_RESPONSES = {
    "404": ErrorResponse(code=404, reason="NotFound", message="no such metric"),
    "500": ErrorResponse(),
    "503": ErrorResponse(
        code=503, reason="ServiceUnavailable", message="the backend is unavailable"
    ),
    "403": ErrorResponse(code=403, reason="Forbidden", message="you may not"),
    "404 without a Status": ErrorResponse(code=404, message="404 page not found", plain=True),
    "500 without a Status": ErrorResponse(code=500, message="boom", plain=True),
    "503 without a Status": ErrorResponse(code=503, message="service unavailable", plain=True),
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


def _responding(error: ErrorResponse) -> Responses:
    return {"pods/*/rps": error, "services/front/rps": error, "external/queue": error}


def _each_metric() -> list[Scenario]:
    """Every kind of metric with an error, then with an empty list."""
    errors = list(ERROR_RESPONSES.items())
    found = []
    for index, (name, metric) in enumerate(EVERY_METRIC.items()):
        word, error = errors[index % len(errors)]
        first = state(spec(metric), responses=_responding(error), measured=error)
        empty: Responses = {"pods/*/rps": (), "services/front/rps": (), "external/queue": ()}
        steps = (first, then(first, responses=empty, measured=()))
        found.append(scenario("failure", f"{name} with {word}, then an empty list", *steps))
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
            f"every API responds with {word}",
            state(spec(*metrics), responses=_responding(error), measured=error),
        )
        for word, error in ERROR_RESPONSES.items()
    ]


def _several() -> list[Scenario]:
    queue, rate = external("queue", total("100")), object_metric("rps", total("100"))
    rps = pods_metric("rps", "10")
    three = spec(queue, rate, rps)
    many = state(
        three,
        responses={
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
                responses={
                    **of_queue("queue", "20"),
                    **of_service("rps", "10"),
                    **of_pods("rps", *["1"] * 3),
                },
            ),
        ),
        scenario(
            "several",
            "equal proposals name the first",
            state(
                spec(queue, rate),
                responses={**of_queue("queue", "200"), **of_service("rps", "200")},
            ),
        ),
        scenario(
            "several",
            "proposals of zero name the last",
            state(
                spec(queue, rate), responses={**of_queue("queue", "0"), **of_service("rps", "0")}
            ),
        ),
    ]


def _several_and_a_failure() -> list[Scenario]:
    queue, rate = external("queue", total("100")), object_metric("rps", total("100"))
    three = spec(queue, rate, pods_metric("rps", "10"))
    many = state(three, responses=of_queue("queue", "130"))
    low = {**of_queue("queue", "20"), **of_service("rps", "30")}
    return [
        scenario(
            "several",
            "one fails and the others want fewer",
            state(three, responses=low),
            then(many, responses={**low, **of_pods("rps", *["1"] * 3)}),
        ),
        scenario(
            "several",
            "one fails and another wants more",
            state(three, responses=of_service("rps", "300")),
            then(many, responses=of_queue("queue", "100")),
        ),
        scenario("several", "the first that fails owns the condition", state(three)),
        scenario(
            "several",
            "the same metric twice",
            state(
                spec(queue, external("queue", average("10"))), responses=of_queue("queue", "130")
            ),
        ),
        scenario(
            "several",
            "cpu and memory of one answer",
            state(
                spec(resource("cpu", utilization(50)), resource("memory", utilization(20))),
                measured=usage("500m", "500m", "500m"),
            ),
        ),
        scenario(
            "several",
            "an outage comes and goes",
            state(spec(queue), responses=of_queue("queue", "200")),
            then(many, spec=spec(queue), responses={}),
            then(many, spec=spec(queue), responses=of_queue("queue", "50")),
        ),
    ]


def _target() -> list[Scenario]:
    queue = spec(external("queue", total("100")))
    first = state(queue, responses=of_queue("queue", "100"))
    more = of_queue("queue", "200")
    conflict = ErrorResponse(code=409, reason="Conflict", message="the object has been modified")

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
                "target", f"reading it fails with {word}", then(first, replicas=3, get=error), first
            )
            for word, error in ERROR_RESPONSES.items()
        ],
        *[
            scenario(
                "target",
                f"writing it fails with {word}",
                then(first, replicas=3, responses=more, put=(error,)),
            )
            for word, error in ERROR_RESPONSES.items()
        ],
        scenario(
            "target",
            "writing it conflicts once",
            then(first, replicas=3, responses=more, put=(conflict,)),
        ),
        scenario(
            "target",
            "writing it conflicts again and again",
            then(first, replicas=3, responses=more, put=(conflict,) * 5),
        ),
        scenario(
            "target",
            "only the group of its version counts",
            state(queue, ref=refs(apiVersion="testbed.loadline.io/v7"), responses=more),
        ),
        scenario(
            "target",
            "a kind that is not served",
            state(queue, ref=refs(kind="Unserved"), responses=more),
        ),
        scenario(
            "target",
            "a group that is not served",
            state(queue, ref=refs(apiVersion="example.com/v1"), responses=more),
        ),
        scenario(
            "target",
            "a kind without a scale",
            state(
                queue,
                ref={"apiVersion": "batch/v1", "kind": "Job", "name": "web"},
                replicas=None,
                responses=more,
            ),
        ),
    ]


def failure_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return (*_each_metric(), *_each_refusal(), *_several(), *_several_and_a_failure(), *_target())
