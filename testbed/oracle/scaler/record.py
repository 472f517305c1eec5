"""`python -m testbed.oracle.scaler.record`: run cases through the real controller's code, and record the results.

Every case is answered by the code of each supported Kubernetes version. Of the newest one all answers are recorded, of
the others only those that differ from the newest's.

Without arguments the committed vectors are recorded again. With `--check` nothing is written: any
number of cases from any seed is evaluated and compared with the core, with the traits of each version.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from scaler.api.upstream import upstream_of
from testbed.oracle.scaler.build import build
from testbed.oracle.scaler.cases import Case, MetricAnswer, StepAnswer, Vector
from testbed.oracle.scaler.distinguishing import distinguishing
from testbed.oracle.scaler.replay import difference
from testbed.oracle.scaler.scenarios import cases, cases_without_tolerances
from testbed.oracle.scaler.tape import upstream_cases
from testbed.oracle.scaler.versions import MINORS, NEWEST
from testbed.vectors import lines, store

SEED = 20_260_101
METRICS_CASES = 4_200
RECONCILE_CASES = 2_600
NORMALIZE_CASES = 6_000
WITHOUT_TOLERANCES_CASES = 60
_HERE = Path(__file__).parents[3] / "tests" / "conformance" / "scaler"
UPSTREAM_VECTORS = _HERE / "upstream.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 1 when `--check` found a difference."""
    parser = argparse.ArgumentParser(prog="python -m testbed.oracle.scaler.record")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--metrics", type=int, default=METRICS_CASES, help="cases, of three metrics each"
    )
    parser.add_argument(
        "--reconciles",
        type=int,
        default=RECONCILE_CASES,
        help="cases, of some reconciles each",
    )
    parser.add_argument("--normalizations", type=int, default=NORMALIZE_CASES)
    parser.add_argument(
        "--without-tolerances",
        type=int,
        default=WITHOUT_TOLERANCES_CASES,
        help="cases for the versions in which the gate HPAConfigurableTolerance can be off",
    )
    parser.add_argument("--check", action="store_true", help="compare with the core, write nothing")
    chosen = parser.parse_args(arguments)
    given = list(
        cases(
            chosen.seed,
            metrics=chosen.metrics,
            reconciles=chosen.reconciles,
            normalizations=chosen.normalizations,
        )
    )
    only_older = list(cases_without_tolerances(chosen.seed, chosen.without_tolerances))
    newest = ask(build(NEWEST), given)
    older = {minor: ask(build(minor), given + only_older) for minor in MINORS[:-1]}
    if chosen.check:
        found = [_check(minor, vectors) for minor, vectors in {**older, NEWEST: newest}.items()]
        return 1 if any(found) else 0
    write(random_vectors_of(NEWEST), newest)
    write(UPSTREAM_VECTORS, ask(build(NEWEST), upstream_cases()))
    for minor, vectors in older.items():
        write(random_vectors_of(minor), distinguishing(vectors, newest))
    return 0


def random_vectors_of(minor: int) -> Path:
    """The file of the answers of Kubernetes 1.`minor`: all of the newest version, the differing ones of the others."""
    return _HERE / ("random.jsonl" if minor == NEWEST else f"random-1.{minor}.jsonl")


def ask(oracle: Path, given: Iterable[Case]) -> list[Vector]:
    """Every case with its answer, by one run of the oracle."""
    found = list(given)
    with tempfile.TemporaryDirectory() as directory:
        case_file, answer_file = Path(directory) / "cases", Path(directory) / "answers"
        encoded = (msgspec.json.encode(each) for each in found)
        case_file.write_bytes(b"".join(line + b"\n" for line in encoded))
        subprocess.run(
            [oracle, "-test.run", "^TestOracle$", "-test.timeout", "0"],
            env=os.environ | {"ORACLE_INPUT": str(case_file), "ORACLE_OUTPUT": str(answer_file)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        answers = answer_file.read_bytes().splitlines()
    return [_vector(case, line) for case, line in zip(found, answers, strict=True)]


def inputs(vectors: Iterable[Vector]) -> int:
    """How many metrics were evaluated and reconciles were made."""
    return sum(len(vector.metrics) + len(vector.steps) for vector in vectors)


def write(path: Path, vectors: Sequence[Vector]) -> None:
    """One vector per line, compressed."""
    store(path, map(msgspec.json.encode, vectors))
    print(f"wrote {inputs(vectors)} inputs to {path}")


def read(path: Path) -> list[Vector]:
    """What `write` wrote."""
    decoder = msgspec.json.Decoder(Vector)
    return [decoder.decode(line) for line in lines(path)]


def _vector(case: Case, line: bytes) -> Vector:
    if case.mode == "metrics":
        metrics = msgspec.json.decode(line, type=tuple[MetricAnswer, ...])
        return Vector(case=case, metrics=metrics)
    steps = msgspec.json.decode(line, type=tuple[StepAnswer, ...])
    return Vector(case=case, steps=steps)


def _check(minor: int, vectors: Sequence[Vector]) -> int:
    """Print the first differences between the core and Kubernetes 1.`minor`; returns how many there are."""
    found = [
        text for vector in vectors if (text := difference(vector, upstream_of(minor))) is not None
    ]
    for text in found[:3]:
        print(text)
    print(f"1.{minor}: {inputs(vectors)} inputs, {len(found)} differences")
    return len(found)


if __name__ == "__main__":
    sys.exit(main())
