"""How the cost of a request grows with the number of autoscalers: waves of 100, 1,000 and 10,000 requests in one cluster.

The cluster has the pods, services and series of the largest wave; the smaller waves are those of fewer namespaces. Each
size starts a new Loadline, so that nothing is kept from another one. The memory is that of a program that watches all pods.
"""

import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.adapter_wave import CONFIGURATION, PER_NAMESPACE, WORKERS, Wave, periods, prepared
from benchmarks.instruments.environment import LOADLINE, Environment, chosen
from benchmarks.instruments.figures import Result, Round
from benchmarks.measurement_options import Options, Report

AUTOSCALERS = 10_000
SIZES = (100, 1_000, 10_000)


def run(options: Options, report: Report) -> Result:
    """Measure. Raises WrongResponses if a response does not match the series."""
    wave = Wave(options.autoscalers or AUTOSCALERS)
    sizes = [size for size in SIZES if size < wave.size] + [wave.size]
    rounds: list[Round] = []
    with ExitStack() as undo:
        directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="loadline-bench-")))
        programs = prepared(undo, directory, wave, report)
        (setup,) = (each for each in chosen(options) if each.name == LOADLINE)
        for size in sizes:
            requests = wave.requests(size // PER_NAMESPACE)
            with ExitStack() as end_of_size:
                environment = Environment.started(
                    end_of_size, programs, configuration=CONFIGURATION, setups=(setup,)
                )
                waves = periods(
                    environment, environment.adapters[LOADLINE], requests, options.rounds + 1
                )
                for number, figures in enumerate(waves):
                    case = "every 15 s" if number else "first wave"
                    report(f"{case}, {len(requests):,} requests: {figures}")
                    rounds.append(
                        Round(
                            case=case,
                            program=_name(size),
                            number=max(number - 1, 0),
                            figures=figures,
                        )
                    )
    return Result(
        benchmark="adapter_growth",
        setting={
            "rounds": options.rounds,
            "in flight": WORKERS,
            "pods": sum(1 for _ in wave.pods()),
        },
        reference=_name(sizes[0]),
        rounds=tuple(rounds),
    )


def _name(size: int) -> str:
    return f"{size:,} requests"
