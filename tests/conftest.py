"""What every test may ask for: one real control plane and Prometheus per session, a fresh namespace per test."""

import uuid
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Literal, Protocol

import pytest
from hypothesis import settings

from testbed import processes
from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.options import ClusterOptions, HPAOptions
from testbed.programs import LoadlineProcess, start_program
from testbed.prometheus import PrometheusOptions, PrometheusServer

# A property is no stopwatch. Where CI is set, hypothesis' own "ci" profile makes examples the same each time.
settings.register_profile("loadline", deadline=None)
settings.load_profile("loadline")

# A stock HPA controller in a hurry: it looks each second, shrinks after five, and trusts new pods at once.
QUICK_HPA = HPAOptions(
    sync_period_seconds=1,
    downscale_stabilization_seconds=5,
    cpu_initialization_seconds=1,
    initial_readiness_delay_seconds=1,
)
SCRAPE_INTERVAL_SECONDS = 0.5


class StartProgram(Protocol):
    """What the fixture `loadline_process` gives."""

    def __call__(
        self, program: Literal["adapter", "scaler"], *flags: str, wait: bool = True
    ) -> LoadlineProcess: ...


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """All programs of a control plane, three kwok nodes, a quick HPA controller; shared, so use `namespace`."""
    options = ClusterOptions(hpa=QUICK_HPA)
    with Cluster(options, directory=tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="session")
def exporter() -> Iterator[Exporter]:
    """A target of `prometheus` whose series a test sets; shared, so give series a label of your own (namespace)."""
    with Exporter() as serving:
        yield serving


@pytest.fixture(scope="session")
def prometheus(
    exporter: Exporter, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PrometheusServer]:
    """Scrapes `exporter` twice a second. Shared: start one of your own to stop or restart it."""
    options = PrometheusOptions(scrape_interval_seconds=SCRAPE_INTERVAL_SECONDS)
    with PrometheusServer(options, directory=tmp_path_factory.mktemp("prometheus")) as running:
        running.add_target(exporter.target)
        yield running


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace of the test's own, gone afterwards."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def loadline_process(tmp_path: Path) -> Iterator[StartProgram]:
    """`loadline_process("adapter", "--config=...")` starts it and waits for /readyz; stopped after the test."""
    started: list[LoadlineProcess] = []

    def start(
        program: Literal["adapter", "scaler"], *flags: str, wait: bool = True
    ) -> LoadlineProcess:
        running = start_program(program, *flags, log_directory=tmp_path / "logs", wait=wait)
        started.append(running)
        return running

    yield start
    for running in reversed(started):
        running.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test says where the logs of every started program are."""
    report = yield
    if report.failed and (logs := processes.log_paths()):
        report.sections.append(("logs of started programs", "\n".join(map(str, logs))))
    return report
