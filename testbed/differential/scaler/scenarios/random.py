"""PURE  Random scenarios by seed: metrics, pods, behavior and failures in unusual combinations."""

import random
from typing import Any

import msgspec

from testbed.differential.scaler.scenario_model import (
    ClusterState,
    Container,
    ErrorResponse,
    Pod,
    Responses,
    Sample,
    Scenario,
    Step,
    Usage,
)
from testbed.differential.scaler.scenarios.failures import ERROR_RESPONSES
from testbed.differential.scaler.scenarios.parts import (
    ANY_DOWN,
    ANY_UP,
    average,
    container_resource,
    external,
    object_metric,
    pods_metric,
    resource,
    scenario,
    state,
    then,
    total,
    utilization,
)

SELECTORS = ("app=web",) * 12 + ("app in (web)", "app!=db", "app=other", "", "app in (")
AMOUNTS = (0, 1, 3, 10, 50, 95, 99, 100, 101, 105, 110, 111, 150, 200, 333, 1000)
# A pod whose readiness changed within the window of its sample counts as unready. No such window ends during a scenario:
# the two sides, which reconcile at different moments, would see different pods.
RECENTLY_SECONDS = 60.0
WINDOWS_SECONDS = (30, 300, 600)


class _Generator:
    """Generates the parts of one scenario."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)  # noqa: S311  reproducible, not a secret
        self.pick = self.random.choice

    def chance(self, percent: int) -> bool:
        """True with this probability."""
        return self.random.randrange(100) < percent

    def metric(self, number: int) -> dict[str, Any]:
        """A metric with a unique name by `number`."""
        name = f"m{number}"
        selector = {"matchLabels": {"k": "v"}} if self.chance(20) else None
        value = self.pick(("100", "7", "500m", "1k", "33"))
        percent = self.pick((1, 30, 50, 80, 150))
        memory, cpu = self.pick(("64Mi", "500Mi", "1G")), self.pick(("100m", "333m", "1"))
        return self.pick(
            (
                resource("cpu", utilization(percent)),
                resource("cpu", average(cpu)),
                resource("memory", utilization(percent)),
                resource("memory", average(memory)),
                container_resource("cpu", self.pick(("app", "proxy")), utilization(percent)),
                container_resource("memory", "app", average(memory)),
                pods_metric(name, value, selector),
                pods_metric(name, value, selector),
                object_metric(name, total(value), selector),
                object_metric(name, average(value), selector),
                external(name, total(value), selector),
                external(name, average(value), selector),
            )
        )

    def behavior(self) -> dict[str, Any] | None:
        """A behavior whose windows and periods are longer than any run."""
        if self.chance(30):
            return None
        rules = {"scaleUp": self._rules(), "scaleDown": self._rules()}
        if self.chance(60):
            rules["scaleDown"]["stabilizationWindowSeconds"] = 0
        return rules

    def _rules(self) -> dict[str, Any]:
        rules: dict[str, Any] = {}
        if self.chance(40):
            rules["stabilizationWindowSeconds"] = self.pick((0, 0, 900))
        if self.chance(60):
            rules["policies"] = [
                {
                    "type": self.pick(("Pods", "Percent")),
                    "value": self.pick((1, 2, 5, 10, 33, 100, 400)),
                    "periodSeconds": 1800,
                }
                for _ in range(self.random.randint(1, 3))
            ]
        else:
            rules["policies"] = [ANY_UP, ANY_DOWN]
        if self.chance(40):
            rules["selectPolicy"] = self.pick(("Max", "Min", "Min", "Disabled"))
        if self.chance(30):
            rules["tolerance"] = self.pick(("0", "0.05", "50m", "0.25", "570m"))
        return rules

    def spec(self) -> dict[str, Any]:
        """A spec with one to three metrics, bounds and perhaps a behavior."""
        least = self.pick((1, 1, 1, 2, 3, 5))
        found: dict[str, Any] = {
            "minReplicas": least,
            "maxReplicas": least + self.pick((0, 1, 3, 10, 40, 200)),
            "metrics": [self.metric(number) for number in range(self.pick((1, 1, 2, 3)))],
        }
        behavior = self.behavior()
        return found if behavior is None else {**found, "behavior": behavior}

    def pods(self) -> tuple[Pod, ...]:
        """Pods, most of them healthy."""
        return tuple(self._pod(number) for number in range(self.pick((1, 2, 3, 3, 4, 5, 6))))

    def _pod(self, number: int) -> Pod:
        requests = {"cpu": self.pick(("100m", "1", "250m")), "memory": self.pick(("128Mi", "1Gi"))}
        containers = [Container(requests=requests)]
        if self.chance(30):
            kind = self.pick(("container", "sidecar", "init"))
            containers.append(Container(name="proxy", requests=requests, kind=kind))
        if self.chance(3):
            containers[0] = Container()
        pod_level = self.chance(5)
        if self.chance(65):
            return Pod(name=f"p{number}", containers=tuple(containers))
        return Pod(
            name=f"p{number}",
            containers=tuple(containers),
            requests={"cpu": "2", "memory": "4Gi"} if pod_level else None,
            phase=self.pick(("Running",) * 5 + ("Pending", "Failed", "Succeeded", "Unknown")),
            ready=self.pick(("True", "True", "False", "False", "Unknown", None)),
            started_seconds_ago=self.pick((None, 3600.0, 3600.0, 20.0, 20.0, 150.0)),
            ready_changed_seconds_ago=self.pick((3600.0, 3590.0, RECENTLY_SECONDS)),
            deleting=self.chance(15),
        )

    def later(self, pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
        """The pods with one or two in another state, and perhaps one more."""
        turned = {self.random.randrange(len(pods)) for _ in range(self.pick((1, 2)))}
        found = [self._turned(pod) if n in turned else pod for n, pod in enumerate(pods)]
        return (*found, self._pod(len(pods))) if self.chance(25) else tuple(found)

    def _turned(self, pod: Pod) -> Pod:
        if self.chance(20):
            return self._pod(int(pod.name.removeprefix("p")))
        state = self._pod(0)
        fields = ("phase", "ready", "started_seconds_ago", "ready_changed_seconds_ago")
        return msgspec.structs.replace(pod, **{name: getattr(state, name) for name in fields})

    def amounts(self, scale: float, unit: str = "") -> str:
        """A quantity at a random percentage of `scale`."""
        if self.chance(3):
            return self.pick(("-5", "0", "1n", "9e15", "10P", "9223372036854775807"))
        return f"{round(scale * self.pick(AMOUNTS) / 100)}{unit}"

    def usage(self, count: int) -> tuple[Usage, ...] | ErrorResponse:
        """Usage of most pods, sometimes of one too many."""
        if self.chance(8):
            return self.pick(tuple(ERROR_RESPONSES.values()))
        numbers = [n for n in range(count + self.chance(10)) if not self.chance(10)]
        level = self.pick((100, 300, 500, 900))
        return tuple(self._usage(number, level) for number in numbers)

    def _usage(self, number: int, level: int) -> Usage:
        names = [name for name in ("app", "proxy") if name == "app" or self.chance(40)]
        measured: dict[str, dict[str, str]] = {
            name: {"cpu": self.amounts(level, "m"), "memory": self.amounts(level, "Mi")}
            for name in names
        }
        if self.chance(4):
            measured["app"].pop(self.pick(("cpu", "memory")))
        window = self.pick(WINDOWS_SECONDS)
        return Usage(pod=f"p{number}", containers=measured, window_seconds=window)

    def responses(self, count: int) -> Responses:
        """Responses for every metric that could be requested."""
        found: dict[str, tuple[Sample, ...] | ErrorResponse] = {}
        for number in range(3):
            scale = self.pick((7, 33, 100, 100, 1000))
            pods = (Sample(name=f"p{n}", value=self.amounts(scale)) for n in range(count + 1))
            found[f"pods/*/m{number}"] = tuple(each for each in pods if not self.chance(15))
            value = Sample(name="front", value=self.amounts(3 * scale))
            found[f"services/front/m{number}"] = (value,)
            found[f"external/m{number}"] = tuple(
                Sample(value=self.amounts(scale)) for _ in range(self.pick((1, 1, 2, 3)))
            )
        return {
            name: self.pick(tuple(ERROR_RESPONSES.values())) if self.chance(8) else answer
            for name, answer in found.items()
        }

    def state(self) -> ClusterState:
        """The first state."""
        pods = self.pods()
        replicas = self.pick((len(pods),) * 6 + (0, 1, 4, 10, 50))
        status = None if self.chance(75) else self.pick((0, 1, 3, 8))
        return state(
            self.spec(),
            replicas=replicas,
            status=status,
            selector=self.pick(SELECTORS),
            all_pods=pods,
            responses=self.responses(len(pods)),
            measured=self.usage(len(pods)),
        )

    def after(self, before: ClusterState) -> ClusterState:
        """A following state with random changes."""
        changes: dict[str, Any] = {}
        if self.chance(40):
            changes["all_pods"] = self.later(before.pods)
        count = len(changes.get("all_pods", before.pods))
        if self.chance(85):
            changes |= {"responses": self.responses(count), "measured": self.usage(count)}
        if self.chance(20):
            changes["replicas"] = self.pick((0, 1, 2, 5, 9, 30))
        if self.chance(15):
            changes["status"] = self.pick((None, 0, 2, 7))
        if self.chance(10):
            changes["selector"] = self.pick(SELECTORS)
        return then(before, **changes)


def random_scenarios(*, count: int, seed: int) -> tuple[Scenario, ...]:
    """`count` scenarios; the same ones for the same seed."""
    return tuple(random_scenario(f"{seed}.{number}") for number in range(count))


def random_scenario(seed: str) -> Scenario:
    """One of them, by the text after its category in its name."""
    generator = _Generator(seed)
    steps = [generator.state()]
    while len(steps) < 4:
        steps.append(generator.after(steps[-1]))
    reconciles = [Step(state=each, reconciles=generator.pick((1, 2))) for each in steps]
    return scenario("random", seed, *reconciles)
