"""Random pods: every phase, readiness, start and request that the grouping distinguishes."""

from random import Random

from scaler.algorithm.observed import (
    Container,
    Pod,
    PodCondition,
    PodMetadata,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from testbed.oracle.scaler.cases import Flags
from wire.api.meta import time_from_unix

SELECTOR = "app=web"

_CPU = ("100m", "250m", "1", "1500m", "2", "333u")
_MEMORY = ("64Mi", "128Mi", "1Gi", "100M", "1500")


def pods(random: Random, replicas: int, now_unix_seconds: float, flags: Flags) -> tuple[Pod, ...]:
    """About as many as the target has; often alike, so that utilizations are often computable."""
    count = max(0, replicas + random.choice((0, 0, 0, 0, 1, -1, 2)))
    wild = random.random() < 0.5
    spec = _spec(random)
    return tuple(
        Pod(
            metadata=PodMetadata(
                name=f"web-{index}",
                namespace="shop",
                labels={"app": "web"} if random.random() < 0.98 else {"app": "other"},
                deletion_timestamp=time_from_unix(now_unix_seconds)
                if wild and random.random() < 0.08
                else None,
            ),
            spec=_spec(random) if wild and random.random() < 0.3 else spec,
            status=_status(random, now_unix_seconds, flags, wild=wild),
        )
        for index in range(min(count, 14))
    )


def _spec(random: Random) -> PodSpec:
    containers = [_container(random, "app")]
    if random.random() < 0.4:
        containers.append(_container(random, "helper"))
    init: tuple[Container, ...] = ()
    if random.random() < 0.15:
        init = tuple(
            _container(random, f"init-{index}", random.choice((None, "Always")))
            for index in range(random.choice((1, 2, 3)))
        )
    return PodSpec(
        containers=tuple(containers),
        init_containers=init,
        resources=_pod_level(random) if random.random() < 0.12 else None,
        overhead={"cpu": "50m", "memory": "10Mi"} if random.random() < 0.08 else None,
    )


def _container(random: Random, name: str, restart_policy: str | None = None) -> Container:
    requests = {"cpu": random.choice(_CPU), "memory": random.choice(_MEMORY)}
    if random.random() < 0.02:
        del requests[random.choice(("cpu", "memory"))]
    if random.random() < 0.02:
        requests["cpu"] = random.choice(("0", "1E", "9223372036854775807"))
    return Container(
        name=name,
        restart_policy=restart_policy,
        resources=ResourceRequirements(requests=requests),
    )


def _pod_level(random: Random) -> ResourceRequirements:
    requests = {"cpu": "3", "memory": "2Gi", "hugepages-2Mi": "4Mi", "example.com/thing": "1"}
    kept = random.sample(sorted(requests), random.randrange(4))
    return ResourceRequirements(requests={name: requests[name] for name in kept})


def _status(random: Random, now: float, flags: Flags, *, wild: bool) -> PodStatus:
    if not wild:
        started = time_from_unix(now - 10_000)
        ready = PodCondition(type="Ready", status="True", last_transition_time=started)
        return PodStatus(phase="Running", start_time=started, conditions=(ready,))
    ages = (
        1,
        20,
        flags.cpu_initialization_period_seconds,
        flags.cpu_initialization_period_seconds + 1,
        1_000,
    )
    age = random.choice(ages)
    turned = now - age + random.choice((0, 5, flags.initial_readiness_delay_seconds, 60, 500))
    conditions = [PodCondition(type="Initialized", status="True")]
    if random.random() < 0.95:
        conditions.append(
            PodCondition(
                type="Ready",
                status=random.choice(("True", "True", "True", "False", "Unknown")),
                last_transition_time=time_from_unix(turned) if random.random() < 0.9 else None,
            )
        )
    phases = ("Running",) * 12 + ("Pending", "Pending", "Failed", "Succeeded", "Unknown", "")
    return PodStatus(
        phase=random.choice(phases),
        start_time=time_from_unix(now - age) if random.random() < 0.95 else None,
        conditions=tuple(conditions),
    )
