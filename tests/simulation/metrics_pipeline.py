"""The way of a metric in a simulation with the adapter: Prometheus, the adapter, the aggregation of kube-apiserver, and a visitor."""

import random
import ssl
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from testbed.certificates import Authority, KeyPair
from tests.simulation import direct_connections, metrics_apis
from tests.simulation.adapter_process import AdapterProcess
from tests.simulation.cluster import Cluster
from tests.simulation.direct_connections import DirectConnections
from tests.simulation.http_client import HTTPClient
from tests.simulation.journal import Journal, Served
from tests.simulation.metrics_apis import CUSTOM, EXTERNAL, GROUPS, QUEUE_METRIC, Measured
from tests.simulation.network import Connection, Request, Response, Tunnel
from tests.simulation.process import Process
from tests.simulation.prometheus_model import PORT, PrometheusModel
from tests.simulation.rights import EVERYWHERE, SCALER, VISITOR, Rights
from tests.simulation.scenario import AGGREGATOR, STREAMED, AdapterPlan, Scenario
from tests.simulation.tampering import Tamper
from tests.simulation.timeline import Listening, Timeline
from tests.simulation.workloads import Workload

SERVED_GROUPS = (EXTERNAL, CUSTOM)
VISITOR_TOKEN = "token-of-the-visitor"
VISIT_SECONDS = 7.0
REPEATED_SECONDS = 0.4
TRUST = "extension-apiserver-authentication"
FRONT_PROXY = "front-proxy-client"

Serve = Callable[[Request, Connection], None]


class MetricsPipeline:
    """Everything between the load and a response of a metrics API."""

    def __init__(
        self,
        scenario: Scenario,
        plan: AdapterPlan,
        timeline: Timeline,
        cluster: Cluster,
        journal: Journal,
        workloads: Mapping[str, Workload],
        serve: Serve,
        kubeconfig: Path,
        tamper: Tamper,
    ) -> None:
        """`serve`: kube-apiserver, to which the adapter sends its requests."""
        self._timeline = timeline
        self._journal = journal
        self._serve = serve
        self._tamper = tamper
        self._random = random.Random(f"adapter {scenario.seed}")
        self._workloads = workloads
        self._namespaces = journal.namespaces
        self._unreachable = ""
        self.rights = Rights(timeline, journal)
        self.prometheus = PrometheusModel(
            timeline, journal, self._random, workloads, plan.scrape_seconds
        )
        self.adapter = AdapterProcess(
            timeline, journal, self._received, self._random, scenario.clock_drift, kubeconfig,
            tamper.adapter_flags,
        )  # fmt: skip
        self.adapter.configure(plan.rules)
        authority = Authority("front-proxy-ca")
        self._publish_trust(cluster, authority)
        self._aggregator = self._client("10.0.0.1", _der(authority.client(FRONT_PROXY)))
        self._visitor = self._client("10.0.0.2")
        self._clients = (self._aggregator, self._visitor)
        self._direct = DirectConnections(timeline, journal, self._listening, self.adapter.accepted)
        self.tunnels: dict[int, Tunnel] = {direct_connections.PORT: self._direct.connect}
        self.scaler_flags: tuple[str, ...] = ()
        """Of the scaler, besides its own."""
        if plan.path != AGGREGATOR:
            direct_connections.register(cluster, SERVED_GROUPS, authority.certificate)
            self.scaler_flags = self._direct_flags(streams=plan.path == STREAMED)

    def start(self, replicas: Iterable[Process]) -> None:
        """The replicas of the scaler can connect to the adapter, Prometheus scrapes, the adapter starts, the visitor visits."""
        for replica in replicas:
            replica.tunnels = self.tunnels
        self.rights.grant(SCALER, frozenset({EVERYWHERE}))
        self.rights.grant(VISITOR, frozenset(self._namespaces[:1]))
        self.rights.users[VISITOR_TOKEN] = VISITOR
        self.prometheus.start()
        self.adapter.start()
        self._timeline.after(VISIT_SECONDS, self._visit)

    def stop(self) -> None:
        """The simulation is over."""
        self.adapter.stop_for_good()
        self.adapter.remove_files()

    def forward(
        self, request: Request, measured: Measured, answered: Callable[[Response], object]
    ) -> None:
        """What kube-apiserver does with a request that it has authenticated and authorized: it names the user, as the front proxy."""
        headers = {
            "Accept": request.headers.get("accept", "application/json"),
            "X-Remote-User": SCALER,
            "X-Remote-Group": "system:serviceaccounts",
        }
        self._get(self._aggregator, SCALER, request.target, headers, measured, answered)

    def disconnect(self, how: str) -> None:
        """The adapter cannot be reached: connections are `refused`, or each request `hangs`."""
        self._unreachable = how
        self._direct.hangs = how == "hangs"
        if how == "refused":
            self._direct.cut_all()
        for client in self._clients:
            client.is_partitioned = how == "hangs"
            if how == "refused":
                client.cut_all()

    def reconnect(self) -> None:
        """It can be reached again, by new connections."""
        self._unreachable = ""
        self._direct.hangs = False
        self._direct.cut_all()
        for client in self._clients:
            client.is_partitioned = False
            client.cut_all()

    def _visit(self) -> None:
        """A user who may not read all metrics reads those of any autoscaler, or of a namespace, sometimes twice."""
        namespace, _, workload = self._random.choice(sorted(self._workloads)).partition("/")
        if self._random.random() < 0.5:
            workload = ""
        self._read(namespace, workload)
        if self._random.random() < 0.3:
            self._timeline.after(REPEATED_SECONDS, self._read, namespace, workload)
        self._timeline.after(VISIT_SECONDS * self._random.uniform(0.1, 1.9), self._visit)

    def _read(self, namespace: str, workload: str) -> None:
        target = f"/apis/{EXTERNAL}/{GROUPS[EXTERNAL]}/namespaces/{namespace}/{QUEUE_METRIC}"
        if workload:
            target += f"?labelSelector=app%3D{workload}"
        measured = Measured(group=EXTERNAL, namespace=namespace, workload=workload)
        headers = {"Authorization": f"Bearer {VISITOR_TOKEN}"}
        self._get(self._visitor, VISITOR, target, headers, measured, lambda _: None)

    def _get(
        self,
        client: HTTPClient,
        user: str,
        target: str,
        headers: dict[str, str],
        measured: Measured,
        answered: Callable[[Response], object],
    ) -> None:
        sent_at = self._timeline.now

        def note(response: Response) -> None:
            response = self._tamper.served(measured, response, self._timeline.now)
            document = metrics_apis.decoded(measured, response.body) if response.ok else None
            self._journal.served.append(
                Served(
                    at=self._timeline.now, sent_at=sent_at, user=user, namespace=measured.namespace,
                    group=measured.group, target=measured.target, status=response.status, document=document,
                )
            )  # fmt: skip
            self._journal.say(self._timeline.now, f"{user} gets {response.status} for {target}")
            answered(response)

        client.get(target, headers, note)

    def _received(self, request: Request, connection: Connection) -> None:
        """A request has left the adapter."""
        if request.headers.get("host", "").endswith(f":{PORT}"):
            self.prometheus.receive(request, connection)
        else:
            self._serve(request, connection)

    def _listening(self) -> Listening | None:
        return None if self._unreachable else self.adapter.listening

    def _client(self, address: str, certificate: bytes = b"") -> HTTPClient:
        return HTTPClient(
            self._timeline, self._listening, self.adapter.accepted,
            address=address, certificate=certificate,
        )  # fmt: skip

    def _direct_flags(self, *, streams: bool) -> tuple[str, ...]:
        file = self.adapter.directory / "token"
        file.write_text(direct_connections.token())
        self.rights.users[direct_connections.token()] = SCALER
        return (
            f"--adapter-service={'/'.join(direct_connections.SERVICE)}",
            f"--adapter-url=https://127.0.0.1:{direct_connections.PORT}",
            f"--adapter-token-file={file}",
            f"--stream-metrics={'auto' if streams else 'never'}",
        )

    def _publish_trust(self, cluster: Cluster, authority: Authority) -> None:
        """As kube-apiserver does, for every server behind it."""
        maps = cluster.add("v1", "ConfigMap", "configmaps")
        data = {
            "requestheader-client-ca-file": authority.certificate.decode(),
            "requestheader-allowed-names": f'["{FRONT_PROXY}"]',
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        }
        maps.create({"metadata": {"namespace": "kube-system", "name": TRUST}, "data": data})


def _der(pair: KeyPair) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pair.certificate.decode())


def pipeline_of(
    scenario: Scenario,
    timeline: Timeline,
    cluster: Cluster,
    journal: Journal,
    workloads: Mapping[str, Workload],
    serve: Serve,
    kubeconfig: Path,
    tamper: Tamper,
) -> MetricsPipeline | None:
    """That of a scenario with the adapter; None: the model serves the metrics APIs."""
    if scenario.adapter is None:
        return None
    return MetricsPipeline(
        scenario, scenario.adapter, timeline, cluster, journal, workloads, serve, kubeconfig, tamper
    )
