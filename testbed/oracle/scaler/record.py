"""`python -m testbed.oracle.scaler.record`: send questions to the real controller's code, and record its answers.

Without arguments the committed vectors are recorded again. With `--check` nothing is written: as many
questions as you like, from any seed, are answered and compared with the core.
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
from testbed.oracle.scaler.questions import MetricAnswer, Question, StepAnswer, Vector
from testbed.oracle.scaler.replay import difference
from testbed.oracle.scaler.scenarios import questions
from testbed.oracle.scaler.tape import upstream_questions

SEED = 20_260_101
METRICS_QUESTIONS = 4_200
RECONCILE_QUESTIONS = 2_600
NORMALIZE_QUESTIONS = 6_000
_HERE = Path(__file__).parents[3] / "tests" / "conformance" / "scaler"
RANDOM_VECTORS = _HERE / "random.jsonl.xz"
UPSTREAM_VECTORS = _HERE / "upstream.jsonl.xz"


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 1 when `--check` found a difference."""
    parser = argparse.ArgumentParser(prog="python -m testbed.oracle.scaler.record")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--metrics", type=int, default=METRICS_QUESTIONS, help="questions, of three metrics each"
    )
    parser.add_argument(
        "--reconciles",
        type=int,
        default=RECONCILE_QUESTIONS,
        help="questions, of some reconciles each",
    )
    parser.add_argument("--normalizations", type=int, default=NORMALIZE_QUESTIONS)
    parser.add_argument("--check", action="store_true", help="compare with the core, write nothing")
    chosen = parser.parse_args(arguments)
    oracle = build()
    asked = questions(
        chosen.seed,
        metrics=chosen.metrics,
        reconciles=chosen.reconciles,
        normalizations=chosen.normalizations,
    )
    vectors = ask(oracle, asked)
    if chosen.check:
        return _check(vectors)
    write(RANDOM_VECTORS, vectors)
    write(UPSTREAM_VECTORS, ask(oracle, upstream_questions()))
    return 0


def ask(oracle: Path, asked: Iterable[Question]) -> list[Vector]:
    """Every question with its answer, by one run of the oracle."""
    found = list(asked)
    with tempfile.TemporaryDirectory() as directory:
        question_file, answer_file = Path(directory) / "questions", Path(directory) / "answers"
        encoded = (msgspec.json.encode(each) for each in found)
        question_file.write_bytes(b"".join(line + b"\n" for line in encoded))
        subprocess.run(
            [oracle, "-test.run", "^TestOracle$", "-test.timeout", "0"],
            env=os.environ
            | {"ORACLE_INPUT": str(question_file), "ORACLE_OUTPUT": str(answer_file)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        lines = answer_file.read_bytes().splitlines()
    return [_vector(question, line) for question, line in zip(found, lines, strict=True)]


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


def _vector(question: Question, line: bytes) -> Vector:
    if question.mode == "metrics":
        metrics = msgspec.json.decode(line, type=tuple[MetricAnswer, ...])
        return Vector(question=question, metrics=metrics)
    steps = msgspec.json.decode(line, type=tuple[StepAnswer, ...])
    return Vector(question=question, steps=steps)


def _check(vectors: Sequence[Vector]) -> int:
    found = [text for vector in vectors if (text := difference(vector)) is not None]
    for text in found[:3]:
        print(text)
    print(f"{inputs(vectors)} inputs, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
