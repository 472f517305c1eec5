"""The programs of an adapter benchmark: one kube-apiserver, one Prometheus, and the adapters that are compared."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.instruments import load, proc, scrape
from benchmarks.instruments.adapters import ProgramSetup, RunningAdapter, started
from benchmarks.measurement_options import Options
from testbed.as_in_a_pod import PodIdentity, administrator
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until

UPSTREAM: Final = "prometheus-adapter"
LOADLINE: Final = "Loadline"
SIDE_BY_SIDE: Final = (
    # Its default of 5 requests per second to kube-apiserver would otherwise limit every result.
    ProgramSetup(
        name=UPSTREAM,
        program="prometheus-adapter",
        flags=("--client-qps=10000", "--client-burst=10000"),
    ),
    ProgramSetup(name=LOADLINE, program="adapter"),
)


def chosen(
    options: Options, setups: Sequence[ProgramSetup] = SIDE_BY_SIDE
) -> tuple[ProgramSetup, ...]:
    """The programs to measure, with the flags that the options add to Loadline's, and Loadline of another checkout, if there is one.

    Raises ValueError if none is left.
    """
    found = tuple(
        msgspec.structs.replace(each, flags=(*each.flags, *options.loadline_flags))
        if each.program == "adapter"
        else each
        for each in setups
        if not options.programs or each.name in options.programs
    )
    if not found:
        raise ValueError(f"--programs: there are {', '.join(each.name for each in setups)}")
    if options.other_checkout is None:
        return found
    others = (
        msgspec.structs.replace(
            each, name=f"{each.name}, other checkout", repository=options.other_checkout
        )
        for each in found
        if each.program == "adapter"
    )
    return (*found, *others)


class Programs(msgspec.Struct, frozen=True, kw_only=True):
    """What runs before the adapters are started."""

    cluster: Cluster
    exporter: Exporter
    prometheus: PrometheusServer
    identity: PodIdentity
    directory: Path

    @classmethod
    def started(
        cls, undo: ExitStack, directory: Path, *, scrape_interval_seconds: float
    ) -> "Programs":
        """A control plane without controllers, and a Prometheus that scrapes `exporter`; `undo` stops them."""
        options = ClusterOptions(controllers=(), scheduler=False, kwok=False)
        cluster = undo.enter_context(Cluster(options, directory=directory / "cluster"))
        exporter = undo.enter_context(Exporter())
        prometheus = undo.enter_context(
            PrometheusServer(
                PrometheusOptions(scrape_interval_seconds=scrape_interval_seconds),
                directory=directory / "prometheus",
            )
        )
        prometheus.add_target(exporter.target)
        return cls(
            cluster=cluster,
            exporter=exporter,
            prometheus=prometheus,
            identity=administrator(cluster, directory),
            directory=directory,
        )


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The running programs."""

    programs: Programs
    adapters: Mapping[str, RunningAdapter]

    @classmethod
    def started(
        cls,
        undo: ExitStack,
        programs: Programs,
        *,
        configuration: str,
        setups: Sequence[ProgramSetup] = SIDE_BY_SIDE,
    ) -> "Environment":
        """Start the adapters with this configuration; `undo` stops them."""
        file = programs.directory / "adapter.yaml"
        file.write_text(configuration)
        adapters = {
            each.name: undo.enter_context(
                started(
                    each,
                    programs.cluster,
                    file,
                    programs.prometheus.url,
                    programs.directory / "adapters",
                    programs.identity,
                )
            )
            for each in setups
        }
        return cls(programs=programs, adapters=adapters)

    def load(
        self, adapter: RunningAdapter, headers: dict[str, str], **more: object
    ) -> load.Specification:
        """A load on one adapter, sent with the aggregator's certificate."""
        cluster = self.programs.cluster
        return msgspec.convert(
            {
                "port": adapter.port,
                "certificate": str(cluster.front_proxy_certificate_path),
                "key": str(cluster.front_proxy_key_path),
                "headers": headers,
                **more,
            },
            load.Specification,
        )

    def cpu_seconds(self, adapter: RunningAdapter) -> dict[str, float]:
        """What the programs behind a request have used so far."""
        return {name: proc.cpu_seconds(pid) for name, pid in self._pids(adapter).items()}

    def queries(self) -> float:
        """The number of queries, by Prometheus' own counter."""
        return self.prometheus_requests("/api/v1/query")

    def prometheus_requests(self, handler: str) -> float:
        """The number of requests to one path of Prometheus."""
        return scrape.total(
            self.programs.prometheus.port,
            "prometheus_http_requests_total",
            having=(f'handler="{handler}"',),
        )

    def _pids(self, adapter: RunningAdapter) -> dict[str, int]:
        assert self.programs.prometheus.process is not None
        return {
            "adapter": adapter.pid,
            "prometheus": self.programs.prometheus.process.pid,
            "apiserver": self.programs.cluster.components["kube-apiserver"].pid,
        }


def wait_until_correct(
    adapter: RunningAdapter, requests: Sequence[load.ExpectedResponse], headers: dict[str, str]
) -> None:
    """Wait until it serves these; all responses are checked during the load."""

    def is_correct() -> bool:
        for expected in requests:
            response = adapter.get(expected.path, headers)
            assert load.values_of(response.body) == expected.values, (
                f"{expected.path}: {response.status} {response.text[:300]}"
            )
        return True

    until(is_correct, what=f"a correct response of {adapter.name}", deadline_seconds=90)
