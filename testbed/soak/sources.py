"""PURE  What a soak runs: the simulation, comparisons with the real controllers, kills, planted faults, mutants, properties."""

import sys
from typing import Final

from testbed.soak.schedule import PROCESSORS, Source

_PYTHON: Final = (sys.executable, "-m")
# Seeds that no other command uses by default.
_FRESH: Final = 1_000_000
_EXAMPLES: Final = "1000"


def _simulation(flags: tuple[str, ...], *, seeds: int) -> Source:
    command = ("tests.simulation", "--record", "--seeds={first}..{after}", *flags)
    return Source(
        name=" ".join(("simulation", *flags)),
        command=(*_PYTHON, *command),
        environment={"PYTHONHASHSEED": "0"},
        numbers=seeds,
        first=_FRESH,
        turn_seconds=90.0,
    )


def _scaler(flags: tuple[str, ...]) -> Source:
    command = ("testbed.differential.scaler", "--record", "--seed={first}", "--only=random", *flags)
    return Source(
        name=" ".join(("scaler", *flags)),
        command=(*_PYTHON, *command),
        numbers=1,
        first=_FRESH,
        turn_seconds=240.0,
        processors=PROCESSORS,
    )


def _properties(package: str) -> Source:
    command = (
        "pytest",
        "-q",
        "-m=hypothesis",
        "--hypothesis-seed={first}",
        f"tests/unit/{package}",
    )
    return Source(
        name=f"properties of {package}",
        command=(*_PYTHON, *command),
        environment={"LOADLINE_EXAMPLES": _EXAMPLES},
        numbers=1,
        first=1,
        turn_seconds=240.0,
        weight=0.25,
    )


SOURCES: Final = (
    _simulation((), seeds=50),
    _simulation(("--fields",), seeds=50),
    _simulation(("--dates",), seeds=50),
    _simulation(("--adapter",), seeds=20),
    _simulation(("--adapter", "--streams"), seeds=20),
    _simulation(("--hpas",), seeds=30),
    _simulation(("--shards",), seeds=20),
    _simulation(("--hpas", "--shards"), seeds=15),
    _simulation(("--restores",), seeds=50),
    _simulation(("--hpas", "--restores"), seeds=30),
    _simulation(("--balancer",), seeds=50),
    _simulation(("--schemas",), seeds=50),
    _simulation(("--samples",), seeds=50),
    Source(
        name="all regressions",
        command=(
            *_PYTHON,
            *("pytest", "-q", "-k=failed_once", "tests/simulation/test_simulated_scaler.py"),
        ),
        environment={"PYTHONHASHSEED": "0", "LOADLINE_REGRESSIONS": "all"},
        numbers=1,
        turn_seconds=240.0,
        # One turn.
        weight=0.25,
    ),
    Source(
        name="planted faults",
        command=(*_PYTHON, "tests.simulation.plants", "--turn={first}"),
        environment={"PYTHONHASHSEED": "0"},
        numbers=1,
        turn_seconds=60.0,
        weight=5.0,
    ),
    Source(
        name="mutants",
        # A package in each turn.
        command=(*_PYTHON, "testbed.mutants", "--turn={first}"),
        numbers=1,
        turn_seconds=240.0,
        weight=1.5,
    ),
    _scaler(()),
    _scaler(("--hpa",)),
    Source(
        name="scenarios of all versions",
        command=(
            *_PYTHON,
            "pytest",
            "-q",
            "tests/e2e/test_same_decisions_as_the_hpa_controller.py",
        ),
        environment={
            "LOADLINE_DIFFERENTIAL_VARIANTS": "all",
            "LOADLINE_DIFFERENTIAL_RANDOM": "24",
            "LOADLINE_DIFFERENTIAL_SEED": "{first}",
        },
        numbers=1,
        first=_FRESH,
        turn_seconds=600.0,
        processors=PROCESSORS,
        weight=0.25,
    ),
    Source(
        name="adapter",
        command=(
            *_PYTHON,
            *("testbed.differential.adapter", "--record", "--seed={first}", "--requests=1500"),
        ),
        numbers=1,
        first=_FRESH,
        turn_seconds=240.0,
        processors=PROCESSORS,
    ),
    Source(
        name="kills",
        # Kills at moments that depend on their number, so each turn has one kill more.
        command=(
            *_PYTHON,
            "pytest",
            "-q",
            "tests/e2e/without_hpa_controller/test_scaler_faults.py",
            "-k=kill",
        ),
        environment={"LOADLINE_KILLS": "{first}"},
        numbers=1,
        first=6,
        turn_seconds=400.0,
        processors=PROCESSORS,
    ),
    Source(
        name="compressed day",
        # 07:45 to 10:45. Each real second is 75 compressed ones: at 150, two busy processors do not keep up.
        command=(
            *_PYTHON,
            *("benchmarks.compressed_day", "--begin=7.75", "--normal=0.75", "--shifted=1"),
            *("--returned=1.25", "--speed=75"),
        ),
        numbers=1,
        turn_seconds=240.0,
        processors=PROCESSORS,
        weight=0.25,
    ),
    *(_properties(each) for each in ("adapter", "kubectl_loadline", "scaler", "wire")),
)
