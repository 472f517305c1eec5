"""Fixtures of all tests: one real control plane and Prometheus per session, a new namespace per test."""

import gc
import os
import signal
import sys
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest
from hypothesis import settings

from testbed import processes
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions, HPAOptions
from testbed.exporter import Exporter
from testbed.programs import LoadlineProcess, start_program
from testbed.prometheus import PrometheusOptions, PrometheusServer
from tests.documented_blocks import ROOT, blocks_run_by
from tests.shared_clusters import SharedClusters
from tests.simulation.hash_seed import is_random, restart
from tests.summaries import summaries

# No deadlines: the machine may be busy. Where CI is set, hypothesis' "ci" profile makes examples deterministic.
# LOADLINE_EXAMPLES=1000, as in a soak, tries more of them where a test does not say how many.
settings.register_profile(
    "loadline", deadline=None, max_examples=int(os.environ.get("LOADLINE_EXAMPLES", "50"))
)
settings.load_profile("loadline")

# A fast HPA controller: one second sync period, five seconds stabilization, new pods count at once.
QUICK_HPA = HPAOptions(
    sync_period_seconds=1,
    downscale_stabilization_seconds=5,
    cpu_initialization_seconds=1,
    initial_readiness_delay_seconds=1,
)
SCRAPE_INTERVAL_SECONDS = 0.5


class StartProgram(Protocol):
    """The type of the fixture `loadline_process`."""

    def __call__(
        self, program: Literal["adapter", "scaler"], *flags: str, wait: bool = True
    ) -> LoadlineProcess: ...


def pytest_configure(config: pytest.Config) -> None:
    """Without make, too, a seed of the simulation is the same run each time."""
    if is_random(sys.argv[0], os.environ):
        # The output has been redirected already.
        config.pluginmanager.getplugin("capturemanager").stop_global_capturing()
        restart([sys.executable, *sys.orig_argv[1:]])
    # A shell's `&` lets all programs below ignore it, also those whose Ctrl-C is tested.
    signal.signal(signal.SIGINT, signal.default_int_handler)


LONG_MODULES = (
    "test_upgrade_from_previous_release",
    "test_same_decisions_as_the_hpa_controller",
    "test_backtest",
    "test_scaler_faults",
    "test_kubectl_plugin",
    "test_hostile_clients",
    "test_migrate_from_prometheus_adapter",
    "test_streamed_metrics",
    "test_same_responses_as_prometheus_adapter",
    "test_default_connection",
    "test_scaler_fields",
    "test_charts",
    # Of the simulation:
    "test_planted_faults",
    "test_crashes_between_writes",
    "test_simulated_scaler",
    "test_adapter_in_the_loop",
    "test_cron_vectors",
)
"""They begin before others, or one process would still run one of them while the others have nothing left to do."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With the longest modules first, and otherwise in the same order.

    Those that share a cluster are last: even if no test uses it, it takes as much processor time in three minutes as its start.
    """
    begins = {name: number for number, name in enumerate(LONG_MODULES)}
    # Modules stay whole.
    sharing = {item.path for item in items if "shared_cluster" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: (item.path in sharing, begins.get(item.path.stem, len(begins))))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharedClusters | None:
    """For `--dist loadfile`."""
    return SharedClusters(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """What lives until the end, modules and thousands of tests, is not traversed by each garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with the argument `documented_block` runs for each of the blocks that the table assigns to it."""
    if "documented_block" in metafunc.fixturenames:
        test = _name_in_the_table(metafunc.definition)
        metafunc.parametrize("documented_block", blocks_run_by(test), ids=str)


@pytest.fixture
def documented_blocks(request: pytest.FixtureRequest) -> list[str]:
    """The texts of the blocks that `documented_blocks.md` assigns to the test, in the order of the documents."""
    return [block.text for block in blocks_run_by(_name_in_the_table(request.node))]


def _name_in_the_table(test: pytest.Function) -> str:
    return f"{test.path.relative_to(ROOT).as_posix()}::{test.originalname}"


@pytest.fixture(scope="session")
def cluster(shared_cluster: Cluster) -> Cluster:
    """A module with a cluster of its own overrides this one."""
    return shared_cluster


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A complete control plane with three kwok nodes and a fast HPA controller; shared, so use `namespace`."""
    options = ClusterOptions(hpa=QUICK_HPA)
    with Cluster(options, directory=tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="session")
def exporter() -> Iterator[Exporter]:
    """A scrape target of `prometheus` whose series a test sets; shared, so label them with your namespace."""
    with Exporter() as serving:
        yield serving


@pytest.fixture(scope="session")
def prometheus(
    exporter: Exporter, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PrometheusServer]:
    """Scrapes `exporter` twice a second. Shared: start another one to stop or restart it."""
    options = PrometheusOptions(scrape_interval_seconds=SCRAPE_INTERVAL_SECONDS)
    with PrometheusServer(options, directory=tmp_path_factory.mktemp("prometheus")) as running:
        running.add_target(exporter.target)
        yield running


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A new namespace of a test."""
    with _new_namespace(cluster) as name:
        yield name


@pytest.fixture(scope="module")
def namespace_of_module(cluster: Cluster) -> Iterator[str]:
    """A new namespace for all tests of a module."""
    with _new_namespace(cluster) as name:
        yield name


@contextmanager
def _new_namespace(cluster: Cluster) -> Iterator[str]:
    """Afterwards, what controllers and autoscalers work on is deleted from it, and from others that begin with its name."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.create_namespace(name)
    yield name
    for each in cluster.get("/api/v1/namespaces")["items"]:
        if each["metadata"]["name"].startswith(name):
            cluster.stop_work_in(each["metadata"]["name"])


@pytest.fixture
def loadline_process(tmp_path: Path) -> Iterator[StartProgram]:
    """`loadline_process("adapter", "--config=...")` starts it and waits for /readyz; it is stopped after the test."""
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
    """Report the log paths of all started programs with a failed test."""
    report = yield
    if report.failed and (logs := processes.log_paths()):
        report.sections.append(("logs of started programs", "\n".join(map(str, logs))))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests found, beside whether they passed."""
    for line in summaries(each for found in terminalreporter.stats.values() for each in found):
        terminalreporter.write_line(line)
