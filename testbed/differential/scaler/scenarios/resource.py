"""PURE  Resource and ContainerResource metrics: percentages, averages, requests, units and overflow."""

from collections.abc import Sequence

from testbed.differential.scaler.scenario_model import ClusterState, Container, Pod, Scenario, Usage
from testbed.differential.scaler.scenarios.parts import (
    FREE,
    average,
    container_resource,
    pods,
    requesting,
    resource,
    scenario,
    spec,
    state,
    then,
    usage,
    utilization,
)

EXACT = {
    "scaleUp": {**FREE["scaleUp"], "tolerance": "0"},
    "scaleDown": {**FREE["scaleDown"], "tolerance": "0"},
}
CPU = resource("cpu", utilization(50))


def _levels(first: ClusterState, *levels: Sequence[str]) -> list[ClusterState]:
    """The same with other usages of cpu, one after the other."""
    return [then(first, measured=usage(*each)) for each in levels]


def _cpu() -> list[Scenario]:
    usual = state(spec(CPU), measured=usage("800m", "900m", "700m"))
    exact = state(spec(CPU, behavior=EXACT), measured=usage("509m", "509m", "509m"))
    return [
        scenario(
            "resource",
            "cpu above, at and below the target",
            usual,
            *_levels(usual, ["500m"] * 3, ["100m"] * 3),
        ),
        scenario(
            "resource",
            "the edges of the tolerance are inside it",
            state(spec(CPU), measured=usage("550m", "550m", "550m")),
            *_levels(usual, ["450m"] * 3, ["560m"] * 3),
        ),
        scenario(
            "resource",
            "a percentage is whole before it becomes a ratio",
            exact,
            *_levels(exact, ["510m"] * 3, ["495m"] * 3),
        ),
        scenario(
            "resource",
            "cpu below nothing",
            state(spec(CPU), measured=usage("-100m", "-150m", "-5m")),
        ),
        scenario(
            "resource",
            "surplus pods count upwards on low usage",
            state(spec(CPU), replicas=3, all_pods=9, measured=usage(*["400m"] * 9)),
        ),
        scenario(
            "resource",
            "fractions of a milli",
            state(spec(CPU), measured=usage("1n", "100500u", "-1n")),
            *_levels(usual, ["799999999n"] * 3),
        ),
    ]


def _averages() -> list[Scenario]:
    cpu = state(spec(resource("cpu", average("250m"))), measured=usage("300m", "301m", "303m"))
    memory = state(
        spec(resource("memory", average("200Mi"))),
        measured=usage("1", "1", "1", memory="300Mi"),
    )
    return [
        scenario(
            "resource", "average cpu", cpu, *_levels(cpu, ["251m", "260m", "240m"], ["1m"] * 3)
        ),
        scenario(
            "resource",
            "average memory is printed in binary units",
            memory,
            then(memory, measured=usage("1", "1", "1", memory="1000")),
            then(memory, measured=usage("1", "1", "1", memory="209715201")),
            then(memory, measured=usage("1", "1", "1", memory="1Gi")),
        ),
        scenario(
            "resource",
            "memory utilization",
            state(spec(resource("memory", utilization(60))), measured=usage("1", "1", "1")),
            then(memory, spec=spec(resource("memory", utilization(20)))),
        ),
        scenario(
            "resource",
            "a hundred times the memory overflows",
            state(
                spec(resource("memory", utilization(50))),
                all_pods=pods(3, containers=requesting(memory="100Ti")),
                measured=usage("1", "1", "1", memory="40Ti"),
            ),
        ),
        scenario(
            "resource",
            "usage beyond every range",
            state(
                spec(resource("cpu", average("1"))),
                measured=usage("10P", "1E", "9223372036854775807"),
            ),
            *_levels(cpu, ["9223372036854775"] * 3, ["9e15", "1", "1"]),
        ),
    ]


def _two_containers(cpu: str, sidecar: str) -> tuple[Usage, ...]:
    return tuple(
        Usage(pod=f"p{number}", containers={"app": {"cpu": cpu}, "proxy": {"cpu": sidecar}})
        for number in range(3)
    )


def _requests() -> list[Scenario]:
    app = Container(requests={"cpu": "400m"})
    proxy = Container(name="proxy", requests={"cpu": "200m"}, kind="sidecar")
    init = Container(name="setup", requests={"cpu": "3"}, kind="init")
    with_sidecar = state(
        spec(CPU),
        all_pods=pods(3, containers=(app, proxy)),
        measured=_two_containers("300m", "150m"),
    )
    pod_level = pods(3, containers=(app, proxy, init), requests={"cpu": "4"})
    without = (*pods(2), Pod(name="p2", containers=(Container(),), phase="Failed"))
    return [
        scenario("resource", "a sidecar's request counts", with_sidecar),
        scenario(
            "resource",
            "an init container's request does not count",
            then(with_sidecar, all_pods=pods(3, containers=(app, proxy, init)), replicas=3),
        ),
        scenario(
            "resource",
            "requests of the pod as a whole",
            then(with_sidecar, all_pods=pod_level, replicas=3),
        ),
        scenario(
            "resource",
            "requests of the pod as a whole for another resource",
            then(
                with_sidecar,
                all_pods=pods(3, containers=(app, init), requests={"memory": "1Gi"}),
                replicas=3,
            ),
        ),
        scenario(
            "resource",
            "one failed pod without a request breaks utilization",
            state(spec(CPU), all_pods=without, measured=usage("900m", "900m", "900m")),
            then(
                state(spec(CPU), all_pods=pods(2), measured=usage("900m", "900m")),
                replicas=None,
            ),
        ),
        scenario(
            "resource",
            "requests of nothing",
            state(
                spec(CPU),
                all_pods=pods(3, containers=requesting(cpu="0")),
                measured=usage("1", "1", "1"),
            ),
        ),
    ]


def _containers() -> list[Scenario]:
    app = Container(requests={"cpu": "400m"})
    proxy = Container(name="proxy", requests={"cpu": "200m"}, kind="sidecar")
    both = pods(3, containers=(app, proxy))

    def of(container: str, **target: int | str) -> ClusterState:
        wanted = average(str(target["value"])) if "value" in target else utilization(50)
        return state(
            spec(container_resource("cpu", container, wanted)),
            all_pods=both,
            measured=_two_containers("300m", "150m"),
        )

    first = of("app")
    return [
        scenario(
            "container",
            "one container's utilization",
            first,
            then(first, measured=_two_containers("200m", "900m")),
            then(first, measured=_two_containers("20m", "900m")),
        ),
        scenario("container", "one container's average", of("app", value="100m")),
        scenario("container", "a sidecar's utilization", of("proxy")),
        scenario("container", "a container that no pod has", of("absent")),
        scenario("container", "an average of a container that no pod has", of("absent", value="1")),
        scenario(
            "container",
            "a container that one sample lacks",
            then(
                first,
                replicas=3,
                measured=(
                    *_two_containers("300m", "150m")[:2],
                    Usage(pod="p2", containers={"proxy": {"cpu": "1"}}),
                ),
            ),
        ),
    ]


def resource_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return (*_cpu(), *_averages(), *_requests(), *_containers())
