"""Discovery: the cost of knowing which metrics exist, with many series, compared with prometheus-adapter v0.12.0.

Each program lists the same series every 10 s. Both list what Prometheus has for one rule, and serve the same names.
"""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec

from benchmarks.instruments import proc
from benchmarks.instruments.adapters import RunningAdapter
from benchmarks.instruments.environment import UPSTREAM, Environment, Programs, chosen
from benchmarks.instruments.figures import Figures, Result, Round
from benchmarks.measurement_options import Options, Report
from testbed.prometheus import PrometheusServer, QueryFailed
from testbed.waiting import until

SIZES = (50_000, 200_000)
SERIES_PER_NAME = 100
LISTINGS = 2
"""Listings of one turn."""
RELIST_SECONDS = 10
FLAGS = (f"--metrics-relist-interval={RELIST_SECONDS}s", "--metrics-max-age=1h")
HEADERS = {"X-Remote-User": "benchmark", "X-Remote-Group": "system:masters"}
SERIES = "/api/v1/series"
PATH = "/apis/custom.metrics.k8s.io/v1beta1"
CONFIGURATION = """\
rules:
- seriesQuery: '{__name__=~"^app_.*",namespace!="",pod!=""}'
  resources: {template: "<<.Resource>>"}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
"""


class SeriesTarget:
    """A scrape target with many series, as of a cluster; `stop` ends it, so that scrapes cost nothing during the measurement."""

    def __init__(self, size: int) -> None:
        text = "".join(sorted(_exposition(size))).encode()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                """Not logged."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def _exposition(size: int) -> Iterator[str]:
    names = size // SERIES_PER_NAME
    for number in range(size):
        pod = number // names
        yield (
            f'app_metric_{number % names}_total{{namespace="team-{pod % 20}",pod="web-{pod}-7d9c5b",container="main",'
            f'node="node-{pod % 7}",endpoint="http",version="v1"}} {number}\n'
        )


def run(options: Options, report: Report) -> Result:
    """Measure. Raises AssertionError if the programs list different names."""
    rounds: list[Round] = []
    for size in options.series or SIZES:
        with ExitStack() as undo:
            programs = _programs(undo, size, report)
            for number in range(options.rounds):
                for setup in chosen(options):
                    setup = msgspec.structs.replace(setup, flags=(*setup.flags, *FLAGS))
                    with ExitStack() as end_of_turn:
                        environment = Environment.started(
                            end_of_turn, programs, configuration=CONFIGURATION, setups=(setup,)
                        )
                        figures = _turn(environment, environment.adapters[setup.name], size)
                    report(f"{size:,} series, {setup.name}: {figures}")
                    rounds.append(
                        Round(
                            case=f"{size:,} series",
                            program=setup.name,
                            number=number,
                            figures=figures,
                        )
                    )
    return Result(
        benchmark="adapter_discovery",
        setting={"rounds": options.rounds, "listings per turn": LISTINGS},
        reference=UPSTREAM,
        rounds=tuple(rounds),
    )


def _programs(undo: ExitStack, size: int, report: Report) -> Programs:
    directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="loadline-bench-")))
    programs = Programs.started(undo, directory, scrape_interval_seconds=15)
    target = SeriesTarget(size)
    programs.prometheus.add_target(target.address)
    report(f"logs: {directory}; scraping {size:,} series")
    until(
        lambda: _are_scraped(programs.prometheus, size),
        what=f"{size:,} series in Prometheus",
        deadline_seconds=300,
        every_seconds=2,
    )
    programs.prometheus.remove_target(target.address)
    target.stop()
    return programs


def _are_scraped(prometheus: PrometheusServer, size: int) -> bool:
    try:
        return bool(prometheus.query(f"count({{__name__=~'app_.*'}}) == {size}"))
    except QueryFailed:
        return False  # It is busy with the scrape.


def _turn(environment: Environment, adapter: RunningAdapter, size: int) -> Figures:
    """The first listing, and some more of the same series."""
    until(
        lambda: len(_listed(adapter)) == size // SERIES_PER_NAME,
        what=f"all metrics in the list of {adapter.name}",
        deadline_seconds=120,
    )
    first = environment.prometheus_requests(SERIES)
    before = environment.cpu_seconds(adapter)
    until(
        lambda: environment.prometheus_requests(SERIES) >= first + LISTINGS,
        what=f"{LISTINGS} listings",
        deadline_seconds=300,
        every_seconds=0.5,
    )
    time.sleep(RELIST_SECONDS / 2)  # The last of them ends.
    used = {
        name: seconds - before[name] for name, seconds in environment.cpu_seconds(adapter).items()
    }
    return {
        "adapter_cpu_seconds_per_listing": used["adapter"] / LISTINGS,
        "prometheus_cpu_seconds_per_listing": used["prometheus"] / LISTINGS,
        "peak_rss_mib": proc.peak_rss_mib(adapter.pid),
    }


def _listed(adapter: RunningAdapter) -> set[str]:
    response = adapter.get(PATH, HEADERS)
    if response.status != 200:
        return set()
    resources = msgspec.json.decode(response.body)["resources"]
    return {each["name"] for each in resources if each["name"].startswith("pods/")}
