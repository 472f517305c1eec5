"""Requests per second and latency when no request is repeated soon, over 5,000 pods, compared with prometheus-adapter v0.12.0.

The same measurement as `adapter_requests`, with 2,500 different requests of each kind in 150 namespaces, so that a result
rarely serves the same request again. A turn before the first round is not counted: autoscalers send the same requests all the time.
"""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import msgspec

from benchmarks.adapter_requests import HEADERS, Case, measured
from benchmarks.adapter_wave import CONFIGURATION, Wave, prepared
from benchmarks.instruments.environment import UPSTREAM, Environment, chosen, wait_until_correct
from benchmarks.instruments.figures import Result, Round
from benchmarks.measurement_options import Options, Report

AUTOSCALERS = 7_500
KINDS = ("Pods", "Object", "External")
"""In the order of a wave."""


def run(options: Options, report: Report) -> Result:
    """Measure. Raises WrongResponses if a response does not match the series."""
    wave = Wave(options.autoscalers or AUTOSCALERS)
    rounds: list[Round] = []
    with ExitStack() as undo:
        directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="loadline-bench-")))
        programs = prepared(undo, directory, wave, report)
        environment = Environment.started(
            undo, programs, configuration=CONFIGURATION, setups=chosen(options)
        )
        requests = wave.requests()
        for position, kind in enumerate(KINDS):
            case = Case(
                name=kind,
                requests=requests[position :: len(KINDS)],
                programs=tuple(environment.adapters),
            )
            for adapter in environment.adapters.values():
                wait_until_correct(adapter, case.requests[-1:], HEADERS)
            warm_up = msgspec.structs.replace(options, rounds=1)
            measured(environment, case, max(options.concurrency), warm_up, lambda _: None)
            for connections in options.concurrency:
                rounds += measured(environment, case, connections, options, report)
    return Result(
        benchmark="adapter_different_requests",
        setting={
            "rounds": options.rounds,
            "seconds per turn": options.seconds,
            "pods": sum(1 for _ in wave.pods()),
            "different requests of each kind": wave.size // len(KINDS),
        },
        reference=UPSTREAM,
        rounds=tuple(rounds),
    )
