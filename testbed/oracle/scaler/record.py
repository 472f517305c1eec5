"""`python -m testbed.oracle.scaler.record`: run cases through the real controller's code, and record the results.

Without arguments the committed vectors are recorded again. With `--check` nothing is written: any
number of cases from any seed is evaluated and compared with the core.
"""

import argparse
import lzma
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from testbed.oracle.scaler.build import build
from testbed.oracle.scaler.cases import Case, MetricAnswer, StepAnswer, Vector
from testbed.oracle.scaler.replay import difference
from testbed.oracle.scaler.scenarios import cases
from testbed.oracle.scaler.tape import upstream_cases

SEED = 20_260_101
METRICS_CASES = 4_200
RECONCILE_CASES = 2_600
NORMALIZE_CASES = 6_000
_HERE = Path(__file__).parents[3] / "tests" / "conformance" / "scaler"
RANDOM_VECTORS = _HERE / "random.jsonl.xz"
UPSTREAM_VECTORS = _HERE / "upstream.jsonl.xz"


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
    parser.add_argument("--check", action="store_true", help="compare with the core, write nothing")
    chosen = parser.parse_args(arguments)
    oracle = build()
    given = cases(
        chosen.seed,
        metrics=chosen.metrics,
        reconciles=chosen.reconciles,
        normalizations=chosen.normalizations,
    )
    vectors = ask(oracle, given)
    if chosen.check:
        return _check(vectors)
    write(RANDOM_VECTORS, vectors)
    write(UPSTREAM_VECTORS, ask(oracle, upstream_cases()))
    return 0


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
        lines = answer_file.read_bytes().splitlines()
    return [_vector(case, line) for case, line in zip(found, lines, strict=True)]


def inputs(vectors: Iterable[Vector]) -> int:
    """How many metrics were evaluated and reconciles were made."""
    return sum(len(vector.metrics) + len(vector.steps) for vector in vectors)


def write(path: Path, vectors: Sequence[Vector]) -> None:
    """One vector per line, compressed."""
    encoded = (msgspec.json.encode(vector) for vector in vectors)
    path.write_bytes(lzma.compress(b"".join(line + b"\n" for line in encoded), preset=9))
    print(f"wrote {inputs(vectors)} inputs to {path} ({path.stat().st_size} bytes)")


def read(path: Path) -> list[Vector]:
    """What `write` wrote."""
    decoder = msgspec.json.Decoder(Vector)
    return [decoder.decode(line) for line in lzma.decompress(path.read_bytes()).splitlines()]


def _vector(case: Case, line: bytes) -> Vector:
    if case.mode == "metrics":
        metrics = msgspec.json.decode(line, type=tuple[MetricAnswer, ...])
        return Vector(case=case, metrics=metrics)
    steps = msgspec.json.decode(line, type=tuple[StepAnswer, ...])
    return Vector(case=case, steps=steps)


def _check(vectors: Sequence[Vector]) -> int:
    found = [text for vector in vectors if (text := difference(vector)) is not None]
    for text in found[:3]:
        print(text)
    print(f"{inputs(vectors)} inputs, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
