"""What autoscalers notice of clients without valid credentials that try to fill the adapter.

1,000 connections, from one address and from many, send requests with wrong tokens of 900 kB for as long as `--seconds` says, each again about
a second later. Meanwhile the HPA controller sends its requests every 5 s over the
connections of the aggregator. Every response to it is checked. Rights and tokens are reviewed by a real kube-apiserver.
"""

import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.adapter_wave import (
    CONFIGURATION,
    HEADERS,
    SETTLED_SECONDS,
    WORKERS,
    Wave,
    prepared,
)
from benchmarks.instruments import load, proc
from benchmarks.instruments.adapters import RunningAdapter
from benchmarks.instruments.environment import (
    SIDE_BY_SIDE,
    Environment,
    chosen,
    wait_until_correct,
)
from benchmarks.instruments.figures import Figures, Result, Round
from benchmarks.instruments.hostile_clients import Hostility, attacking
from benchmarks.measurement_options import Options, Report
from testbed.waiting import until

AUTOSCALERS: Final = 150
CONNECTIONS: Final = 1_000
TOKEN_BYTES: Final = 900_000
PERIOD_SECONDS: Final = 5.0
CASES: Final = {
    "no other clients": (),
    "from one address": ("127.0.0.2",),
    "from the address of kube-apiserver": ("127.0.0.1",),
    "from 250 addresses": tuple(f"127.0.1.{number}" for number in range(1, 251)),
}


def run(options: Options, report: Report) -> Result:
    """Measure. Raises WrongResponses if a response to the HPA controller does not match the series."""
    wave = Wave(options.autoscalers or AUTOSCALERS)
    setups = chosen(options) if options.programs else SIDE_BY_SIDE[1:]
    rounds: list[Round] = []
    with ExitStack() as undo:
        directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="loadline-bench-")))
        programs = prepared(undo, directory, wave, report)
        for case, addresses in CASES.items():
            for setup in setups:
                with ExitStack() as end_of_case:
                    environment = Environment.started(
                        end_of_case, programs, configuration=CONFIGURATION, setups=(setup,)
                    )
                    adapter = environment.adapters[setup.name]
                    figures = _measured(environment, adapter, wave, addresses, options, report)
                report(f"{case}, {setup.name}: {figures}")
                rounds.append(Round(case=case, program=setup.name, number=0, figures=figures))
    return Result(
        benchmark="adapter_hostile_clients",
        setting={
            "seconds": options.seconds,
            "connections": CONNECTIONS,
            "bytes of a token": TOKEN_BYTES,
            "requests per wave": wave.size,
            "in flight": WORKERS,
        },
        reference=setups[0].name,
        rounds=tuple(rounds),
    )


def _measured(
    environment: Environment,
    adapter: RunningAdapter,
    wave: Wave,
    addresses: tuple[str, ...],
    options: Options,
    report: Report,
) -> Figures:
    requests = wave.requests()
    specification = environment.load(
        adapter, HEADERS, requests=requests, connections=WORKERS, seconds=0.0, once=True
    )
    wait_until_correct(adapter, requests[-3:], HEADERS)
    directory = environment.programs.directory
    with load.prepared(specification, directory) as generate, ExitStack() as undo:
        _wait_until_seconds(time.monotonic() + SETTLED_SECONDS)
        generate()
        proc.forget_peak(adapter.pid)
        before_mib, cpu_before = proc.rss_mib(adapter.pid), proc.cpu_seconds(adapter.pid)
        began, outcomes = time.monotonic(), []
        hostility = Hostility(
            port=adapter.port,
            addresses=addresses,
            connections=CONNECTIONS,
            token_bytes=TOKEN_BYTES,
            seconds=options.seconds,
        )
        attack = undo.enter_context(attacking(hostility, directory)) if addresses else None
        next_at = began
        while time.monotonic() < began + options.seconds:
            outcomes.append(generate())
            next_at += PERIOD_SECONDS
            _wait_until_seconds(next_at)
        cpu_seconds = proc.cpu_seconds(adapter.pid) - cpu_before
        if attack is not None:
            report(f"the hostile clients: {attack()}")
        return {
            "p50_ms": statistics.median(each.p50_ms for each in outcomes),
            "p99_ms": statistics.median(each.p99_ms for each in outcomes),
            "worst_wave_p99_ms": max(each.p99_ms for each in outcomes),
            "growth_mib": proc.peak_rss_mib(adapter.pid) - before_mib,
            "adapter_cores": cpu_seconds / (time.monotonic() - began),
        }


def _wait_until_seconds(at_seconds: float) -> None:
    until(
        lambda: time.monotonic() >= at_seconds,
        what="the next wave",
        deadline_seconds=2 * PERIOD_SECONDS,
    )
