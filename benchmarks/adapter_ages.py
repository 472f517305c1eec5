"""How old a served value is, compared with prometheus-adapter v0.12.0.

Every series has the time of its scrape as its value, so the age of a response is seen from outside: the time at which it arrives less its value.
Requests are spread evenly over time, as those of many autoscalers are, each for another series. In one case all series are of one target of
Prometheus, which are scraped at the same time; in the other they are of many targets, whose scrapes Prometheus spreads over its interval.
"""

import asyncio
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from benchmarks.instruments import load
from benchmarks.instruments.adapters import RunningAdapter
from benchmarks.instruments.environment import (
    UPSTREAM,
    Environment,
    Programs,
    chosen,
)
from benchmarks.instruments.figures import Figures, Result, Round, percentile
from benchmarks.measurement_options import Options, Report
from testbed.exporter import Exporter
from testbed.waiting import until

NAMESPACE = "bench"
HEADERS = {"X-Remote-User": "horizontal-pod-autoscaler", "X-Remote-Group": "system:masters"}
AUTOSCALERS = 300
TARGETS = 30
PERIOD_SECONDS = 15.0
SCRAPE_SECONDS = 15.0
WARM_UP_PERIODS = 5
PERIODS = 4

CONFIGURATION = """\
rules: []
externalRules:
- seriesQuery: '{__name__=~"scraped_at_.*",namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'max(<<.Series>>{<<.LabelMatchers>>}) by (queue)'
"""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """The metric whose series are of so many targets."""

    name: str
    metric: str
    targets: int


CASES = (
    Case(name="one target", metric="scraped_at_of_one", targets=1),
    Case(name=f"{TARGETS} targets", metric="scraped_at_of_many", targets=TARGETS),
)


def run(options: Options, report: Report) -> Result:
    """Measure. Raises WrongResponse if a response has no value."""
    autoscalers = options.autoscalers or AUTOSCALERS
    rounds: list[Round] = []
    with ExitStack() as undo:
        directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="loadline-bench-")))
        programs = Programs.started(undo, directory, scrape_interval_seconds=SCRAPE_SECONDS)
        for case in CASES:
            _expose(undo, programs, case, autoscalers)
        for case in CASES:
            # As long as the series are younger than two minutes, their scrape interval is not known.
            scrapes = f"count_over_time({case.metric}[2m]) >= {120 / SCRAPE_SECONDS}"
            programs.prometheus.wait_for(scrapes, deadline_seconds=200.0)
        report(f"logs: {directory}")
        environment = Environment.started(
            undo, programs, configuration=CONFIGURATION, setups=chosen(options)
        )
        for number in range(options.rounds):
            for case in CASES:
                for name, adapter in environment.adapters.items():
                    paths = _paths(case, autoscalers)
                    _wait_until_served(adapter, paths[-1])
                    figures = asyncio.run(_measured(environment, adapter, paths))
                    report(f"{case.name}, {name}: {figures}")
                    rounds.append(
                        Round(case=case.name, program=name, number=number, figures=figures)
                    )
    return Result(
        benchmark="adapter_ages",
        setting={
            "rounds": options.rounds,
            "requests every 15 s": autoscalers,
            "seconds": PERIODS * PERIOD_SECONDS,
            "scrape interval": SCRAPE_SECONDS,
        },
        reference=UPSTREAM,
        rounds=tuple(rounds),
    )


def _expose(undo: ExitStack, programs: Programs, case: Case, autoscalers: int) -> None:
    """The series, in turns by the targets."""
    exporters = [undo.enter_context(Exporter()) for _ in range(case.targets)]
    for queue in range(autoscalers):
        exporters[queue % case.targets].set_function(
            case.metric, time.time, namespace=NAMESPACE, queue=f"queue-{queue}"
        )
    for exporter in exporters:
        programs.prometheus.add_target(exporter.target)


def _paths(case: Case, autoscalers: int) -> list[str]:
    external = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}/{case.metric}"
    return [
        f"{external}?labelSelector={quote(f'queue=queue-{queue}')}" for queue in range(autoscalers)
    ]


def _wait_until_served(adapter: RunningAdapter, path: str) -> None:
    def is_served() -> bool:
        response = adapter.get(path, HEADERS)
        assert load.values_of(response.body), f"{path}: {response.status} {response.text[:300]}"
        return True

    until(is_served, what=f"a response of {adapter.name}", deadline_seconds=120)


async def _measured(environment: Environment, adapter: RunningAdapter, paths: list[str]) -> Figures:
    """Send each request once in a period, at even intervals."""
    connector = aiohttp.TCPConnector(ssl=adapter.tls)
    async with aiohttp.ClientSession(connector=connector, headers=HEADERS) as session:

        async def age_seconds(path: str) -> float:
            url = URL(f"https://127.0.0.1:{adapter.port}{path}", encoded=True)
            async with session.get(url) as response:
                body = await response.read()
            return time.time() - _scraped_at(path, body)

        async def period() -> list[float]:
            began = time.monotonic()
            sent = []
            for number, path in enumerate(paths):
                due = began + number * PERIOD_SECONDS / len(paths)
                await asyncio.sleep(due - time.monotonic())
                sent.append(asyncio.create_task(age_seconds(path)))
            found = await asyncio.gather(*sent)
            await asyncio.sleep(began + PERIOD_SECONDS - time.monotonic())
            return found

        for _ in range(WARM_UP_PERIODS):
            await period()
        queries = environment.queries()
        ages = sorted([each for _ in range(PERIODS) for each in await period()])
        queries = environment.queries() - queries
    return {
        "p50_age_seconds": percentile(ages, 50),
        "mean_age_seconds": sum(ages) / len(ages),
        "p99_age_seconds": percentile(ages, 99),
        "queries_every_15_s": queries / PERIODS,
    }


def _scraped_at(path: str, body: bytes) -> float:
    values = load.values_of(body)
    if len(values) != 1:
        raise load.WrongResponses(f"{path}: {body[:300]!r}")
    (text,) = values
    return float(text.removesuffix("m")) / (1000 if text.endswith("m") else 1)
