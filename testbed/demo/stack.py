"""Everything that the demo runs, started in order and always stopped."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from testbed import apiservices, ports
from testbed.chart_programs import start_chart_program
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions, HPAOptions
from testbed.demo import manifests
from testbed.demo.load_plan import NAMESPACE, SCRAPE_SECONDS, SYNC_SECONDS, WORKLOADS, Plan
from testbed.exporter import Exporter
from testbed.helm import Helm
from testbed.programs import LoadlineProcess
from testbed.prometheus import PrometheusOptions, PrometheusServer

SYSTEM_NAMESPACE = "loadline"
SERVING_PORT = 10443  # of the scaler's pod
APIS = ("v1beta2.custom.metrics.k8s.io", "v1beta1.external.metrics.k8s.io")

Say = Callable[[str], None]


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """The running programs."""

    cluster: Cluster
    prometheus: PrometheusServer
    exporter: Exporter
    adapter: LoadlineProcess
    scaler: LoadlineProcess

    def check(self) -> None:
        """Raises ProcessFailed when a program has exited by itself."""
        programs = [*self.cluster.components.values(), self.adapter.process, self.scaler.process]
        if self.prometheus.process is not None:
            programs.append(self.prometheus.process)
        for program in programs:
            if program.exit_code is not None:
                raise program.failed(f"ended with exit code {program.exit_code}")


@contextmanager
def started(plan: Plan, directory: Path, say: Say) -> Iterator[Stack]:
    """Start everything; `say` prints the progress."""
    scaler_port = ports.reserve()
    with ExitStack() as running:
        say(plan.shortened)
        say("control plane: etcd, kube-apiserver, controllers, scheduler, nodes")
        cluster = running.enter_context(
            Cluster(_cluster_options(plan, scaler_port), directory=directory)
        )
        say("Prometheus")
        exporter = running.enter_context(Exporter())
        prometheus = running.enter_context(
            PrometheusServer(
                PrometheusOptions(scrape_interval_seconds=SCRAPE_SECONDS),
                directory=directory / "prometheus",
            )
        )
        prometheus.add_target(exporter.target)
        say("both charts and the two workloads")
        adapter_port = ports.reserve()
        _install(cluster, adapter_port=adapter_port, prometheus_port=prometheus.port)
        say("adapter and scaler, with the permissions of their charts")
        adapter = running.enter_context(_program(cluster, "adapter", directory, adapter_port))
        scaler = running.enter_context(_program(cluster, "scaler", directory, scaler_port))
        for api in APIS:
            apiservices.wait_until_available(cluster, api)
        cluster.apply(manifests.web_autoscaler(plan), manifests.worker_autoscaler(plan))
        yield Stack(
            cluster=cluster,
            prometheus=prometheus,
            exporter=exporter,
            adapter=adapter,
            scaler=scaler,
        )


def _cluster_options(plan: Plan, scaler_port: int) -> ClusterOptions:
    hpa = HPAOptions(
        sync_period_seconds=SYNC_SECONDS,
        downscale_stabilization_seconds=plan.stabilization_seconds,
        initial_readiness_delay_seconds=1,
        cpu_initialization_seconds=1,
    )
    return ClusterOptions(hpa=hpa, forwarded_ports=((SERVING_PORT, scaler_port),))


def _install(cluster: Cluster, *, adapter_port: int, prometheus_port: int) -> None:
    """Run both `helm install` and `kubectl apply` concurrently: each mostly waits."""
    for namespace in (SYSTEM_NAMESPACE, NAMESPACE):
        cluster.create_namespace(namespace)
    helm = Helm(cluster, SYSTEM_NAMESPACE)
    values = manifests.adapter_values(port=adapter_port, prometheus_port=prometheus_port)
    with ThreadPoolExecutor(3) as pool:
        installing: list[Future[Any]] = [
            pool.submit(helm.install, "adapter", release="adapter", values=values),
            pool.submit(helm.install, "scaler", release="scaler", values=manifests.scaler_values()),
            pool.submit(cluster.apply, *map(manifests.deployment, WORKLOADS)),
        ]
        for one in installing:
            one.result()


def _program(
    cluster: Cluster, program: Literal["adapter", "scaler"], directory: Path, port: int
) -> LoadlineProcess:
    return start_chart_program(
        cluster,
        program,
        namespace=SYSTEM_NAMESPACE,
        release=program,
        directory=directory / "programs",
        port=port,
    )
