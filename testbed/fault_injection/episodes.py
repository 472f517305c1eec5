"""One seed, one episode: faults of Prometheus and kube-apiserver, reloads and pods that come and go, while clients ask.

After each step every response is checked against what the models know. Once there was a fault, a response may be an error,
but it may never carry a wrong value, never reach a client without the rights, and never be late.
"""

import asyncio
import random
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp
import msgspec

from testbed.fault_injection.faulty_server import HANG_SECONDS, NONE, Fault, FaultyServer
from testbed.fault_injection.kubernetes_model import ALLOWED_USER, DENIED_USER, KubernetesModel
from testbed.fault_injection.prometheus_model import WRONG_ANSWERS, PrometheusModel
from testbed.fault_injection.truth import (
    NAMESPACES,
    PODS,
    RESPONSE_SECONDS_MAX,
    WATCH_SECONDS,
    Ask,
    Outcome,
    Truth,
    Violation,
    number,
)
from testbed.programs import LoadlineProcess

STEPS_MAX = 6
REQUESTS_PER_STEP = 6
TRANSPORT_FAULTS = (
    "hangs", "closes", "cut", "slow", "garbage", "html", "empty", "429", "500", "503", "403",
)  # fmt: skip
FAULT_SECONDS = 0.4
RECOVERY_SECONDS = WATCH_SECONDS
FLAGS = (
    "--prometheus-timeout=500ms",
    "--metrics-relist-interval=10m",
    "--metrics-freshness=50ms",
    "--config-poll-interval=50ms",
    "-v=0",
)
CONFIGURATION = """
rules:
- seriesQuery: 'requests{namespace!="",pod!=""}'
  resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
  metricsQuery: 'sum by (<<.GroupBy>>) (<<.Series>>{<<.LabelMatchers>>})'
externalRules:
- seriesQuery: 'queue{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum by (namespace) (<<.Series>>{<<.LabelMatchers>>})'
"""
CONFIGURATIONS = (
    CONFIGURATION,
    CONFIGURATION + "\n# the same again, with a comment\n",
    "rules: [this is not a rule]\n",
    "rules: {",
)


class World:
    """The models, their servers, and a running adapter over them."""

    def __init__(
        self,
        prometheus: PrometheusModel,
        kubernetes: KubernetesModel,
        prometheus_server: FaultyServer,
        kubernetes_server: FaultyServer,
        adapter: LoadlineProcess,
        config: Path,
    ) -> None:
        self.prometheus = prometheus
        self.kubernetes = kubernetes
        self.prometheus_server = prometheus_server
        self.kubernetes_server = kubernetes_server
        self.adapter = adapter
        self.config = config
        self.truth = Truth(prometheus, kubernetes)
        self.log_position = 0

    def heal(self) -> None:
        """No fault any more."""
        self.prometheus.answer_wrongly("")
        self.prometheus_server.fault = NONE
        self.kubernetes_server.fault = NONE

    def new_log(self) -> str:
        """What the adapter has logged since the last call."""
        with self.adapter.process.log_path.open("rb") as log:
            log.seek(self.log_position)
            text = log.read()
        self.log_position += len(text)
        return text.decode(errors="replace")


class Responses(msgspec.Struct):
    """To requests that are allowed to read values, while there are faults and before the first one."""

    total: int = 0
    with_values: int = 0

    def add(self, other: "Responses") -> None:
        """Count those of another episode, too."""
        self.total += other.total
        self.with_values += other.with_values


class Episode:
    """`await Episode(world, session, seed).run()`; raises `Violation`. `trace` lists what was done, step by step."""

    def __init__(self, world: World, session: aiohttp.ClientSession, seed: int) -> None:
        self.trace: list[str] = []
        self.responses = Responses()
        self._is_disturbed = False
        self._world = world
        self._session = session
        self._seed = seed
        self._random = random.Random(seed)  # noqa: S311 - repeatable by seed

    async def run(self) -> None:
        """All steps, then the recovery."""
        self._world.truth.change_values(self._seed)
        for _ in range(self._random.randint(1, STEPS_MAX)):
            await self._disturb()
            asks = [self._ask() for _ in range(REQUESTS_PER_STEP)]
            for outcome in await asyncio.gather(*map(self._send, asks)):
                self._count(outcome)
                self._world.truth.check(outcome, is_disturbed=self._is_disturbed)
            self._check_process()
        await self._recover()

    def _count(self, outcome: Outcome) -> None:
        if outcome.ask.token == ALLOWED_USER:
            is_answered = outcome.status == 200
            self.responses.add(Responses(total=1, with_values=int(is_answered)))

    async def _disturb(self) -> None:
        world, chance = self._world, self._random
        choices: list[Callable[[], None]] = [
            self._break_prometheus,
            self._break_prometheus,
            self._answer_wrongly,
            self._answer_wrongly,
            self._break_kubernetes,
            self._change_pods,
            self._reload,
            world.heal,
        ]
        act = chance.choice(choices)
        self.trace.append(act.__name__.strip("_"))
        act()
        harmless = (self._change_pods, self._reload, world.heal)
        self._is_disturbed = self._is_disturbed or act not in harmless
        if chance.random() < 0.2:
            self._is_disturbed = True
            server = chance.choice((world.prometheus_server, world.kubernetes_server))
            self.trace.append("cut connections")
            await server.cut_connections()
        if chance.random() < 0.05:
            self._is_disturbed = True
            self.trace.append("Prometheus restarts")
            await world.prometheus_server.disconnect()
            await asyncio.gather(*(self._send(self._ask()) for _ in range(2)))
            await world.prometheus_server.reconnect()

    def _fault(self) -> Fault:
        kind = self._random.choice(TRANSPORT_FAULTS)
        self.trace.append(kind)
        seconds = HANG_SECONDS if kind == "hangs" else FAULT_SECONDS
        return Fault(kind=kind, probability=self._random.choice((0.5, 1.0)), seconds=seconds)

    def _break_prometheus(self) -> None:
        self._world.prometheus_server.fault = self._fault()

    def _break_kubernetes(self) -> None:
        self._world.kubernetes_server.fault = self._fault()

    def _answer_wrongly(self) -> None:
        wrong = self._random.choice(WRONG_ANSWERS)
        self.trace.append(wrong)
        self._world.prometheus.answer_wrongly(wrong)

    def _change_pods(self) -> None:
        kubernetes = self._world.kubernetes
        namespace = f"ns-{self._random.randrange(NAMESPACES)}"
        name = f"p-{self._random.randrange(PODS)}"
        if (namespace, name) in kubernetes.pods:
            kubernetes.remove(namespace, name)
        else:
            kubernetes.add(namespace, name)

    def _reload(self) -> None:
        """The file changes several times at once, in place or by a swap, and may be invalid at the end."""
        for _ in range(self._random.randint(1, 4)):
            text = self._random.choice(CONFIGURATIONS)
            if self._random.random() < 0.5:
                swapped = self._world.config.with_suffix(".new")
                swapped.write_text(text)
                swapped.replace(self._world.config)
            else:
                self._world.config.write_text(text)

    def _ask(self) -> Ask:
        chance = self._random
        namespace = f"ns-{chance.randrange(NAMESPACES)}"
        token = chance.choice((ALLOWED_USER,) * 6 + (DENIED_USER, f"invalid-{chance.random()}"))
        if chance.random() < 0.4:
            path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/queue"
            return Ask(path, token, namespace, "")
        pod = chance.choice(("*", "*", *(f"p-{number}" for number in range(PODS))))
        version = chance.choice(("v1beta1", "v1beta2"))
        base = f"/apis/custom.metrics.k8s.io/{version}/namespaces/{namespace}/pods"
        query = "?labelSelector=app%3Dweb" if pod == "*" else ""
        return Ask(f"{base}/{pod}/requests{query}", token, namespace, pod)

    async def _send(self, ask: Ask) -> Outcome:
        started = time.monotonic()
        url = f"{self._world.adapter.url}{ask.path}"
        headers = {"Authorization": f"Bearer {ask.token}"}
        try:
            async with self._session.get(url, headers=headers) as response:
                body = await response.read()
                return Outcome(ask, response.status, body, time.monotonic() - started)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Violation(f"no response to {ask}: {error!r}") from error

    def _check_process(self) -> None:
        process = self._world.adapter.process
        if process.exit_code is not None:
            raise Violation(f"the adapter ended with code {process.exit_code}")
        log = self._world.new_log()
        if "Traceback" in log:
            raise Violation(f"a traceback in the log: {log[-3000:]}")

    async def _recover(self) -> None:
        """Once the faults are over, every value is right and complete within a bounded time."""
        world = self._world
        world.heal()
        world.config.write_text(CONFIGURATION)
        deadline = time.monotonic() + RECOVERY_SECONDS
        while True:
            missing = await self._incomplete()
            if not missing:
                break
            if time.monotonic() > deadline:
                raise Violation(f"not recovered after {RECOVERY_SECONDS:g} s: {missing}")
            await asyncio.sleep(0.05)  # polls the process with a deadline
        self._check_process()

    async def _incomplete(self) -> str:
        """What is not right yet, empty when everything is."""
        world = self._world
        expected = world.truth.values()
        for space in range(NAMESPACES):
            namespace = f"ns-{space}"
            pods = {name for where, name in world.kubernetes.pods if where == namespace}
            base = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{namespace}/pods"
            for ask, wanted in (
                (
                    Ask(f"{base}/*/requests?labelSelector=app%3Dweb", ALLOWED_USER, namespace, "*"),
                    pods,
                ),
                (
                    Ask(
                        f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/queue",
                        ALLOWED_USER,
                        namespace,
                        "",
                    ),
                    {""},
                ),
            ):
                outcome = await self._send(ask)
                if outcome.status != 200 and wanted:
                    return f"{outcome.status} {ask}: {outcome.body[:300]!r}"
                if not wanted:
                    continue
                items = msgspec.json.decode(outcome.body)["items"]
                found = {
                    (item.get("describedObject") or {"name": ""})["name"]: number(item["value"])
                    for item in items
                }
                if found != {name: expected[namespace, name] for name in wanted}:
                    return f"{ask}: {found}"
        return ""


def client_session() -> aiohttp.ClientSession:
    """A client that does not verify the self-signed certificate of the process under test."""
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=tls),
        timeout=aiohttp.ClientTimeout(total=RESPONSE_SECONDS_MAX + 5),
    )
