"""A copy of the sources below `out/mutants`, in which mutmut makes its mutants and runs the tests."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from testbed.mutants.candidates import Mutant, mutants_of
from testbed.mutants.packages import MutatedPackage
from testbed.mutants.results import Result

_ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = ("adapter", "scaler", "wire")
BESIDE_SOURCES: Final = ("tests", "testbed", "kubectl_loadline", "charts", "docs", "README.md")
_NO_MUTANT: Final = "none"

# What pytest, mutmut and the kernel end a run with.
_KILLED: Final = (1, 3)
_TIMEOUT: Final = (-24, 24, 36, 152, 255)
_NO_TESTS: Final = (5, 33)


class MutmutFailed(Exception):
    """The output of mutmut says why."""


class _Meta(msgspec.Struct):
    exit_code_by_key: dict[str, int | None]


class Workspace:
    """Of one package and some tests. Later runs reuse what did not change."""

    def __init__(self, package: MutatedPackage, tests: Sequence[str], root: Path = _ROOT) -> None:
        self._package = package
        self._tests = tests
        self._root = root
        is_further = tests == package.further
        self._directory = root / "out" / "mutants" / f"{package.name}{'-further' * is_further}"

    def mutants(self) -> list[Mutant]:
        """All mutants of the package worth a run."""
        self._copy()
        # mutmut has no command that only makes mutants: it makes them before it finds that none has this name.
        output = self._run(_NO_MUTANT)
        found = [
            mutant for module, path in self._modules() for mutant in mutants_of(_read(path), module)
        ]
        if not found or not (self._mutated / "mutmut-stats.json").exists():
            raise MutmutFailed(output)
        return found

    def results(self, mutants: Sequence[Mutant], processes: int) -> dict[Mutant, Result]:
        """Run the tests against each, fast ones first, until one fails."""
        if not mutants:
            return {}
        output = self._run(f"--max-children={processes}", *(each.mutmut_name for each in mutants))
        codes: dict[str, int | None] = {}
        for _, path in self._modules():
            meta = path.with_name(f"{path.name}.meta")
            codes |= msgspec.json.decode(meta.read_bytes(), type=_Meta).exit_code_by_key
        results = {each: _result(codes.get(each.mutmut_name)) for each in mutants}
        if Result.NOT_RUN in results.values():
            raise MutmutFailed(output)
        return results

    @property
    def _mutated(self) -> Path:
        return self._directory / "mutants"

    def _modules(self) -> list[tuple[str, Path]]:
        paths = sorted(
            {path for source in self._package.sources for path in self._mutated.glob(source)}
        )
        return [
            (".".join(path.relative_to(self._mutated).with_suffix("").parts), path)
            for path in paths
            if path.with_name(f"{path.name}.meta").exists()
        ]

    def _copy(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        ignore = shutil.ignore_patterns("__pycache__", ".hypothesis")
        for name in (*SOURCES, *BESIDE_SOURCES):
            source, target = self._root / name, self._directory / name
            if source.is_file():
                shutil.copy2(source, target)
                continue
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=ignore)
        configuration = {
            "source_paths": SOURCES,
            "only_mutate": self._package.sources,
            "also_copy": BESIDE_SOURCES,
            "pytest_add_cli_args_test_selection": self._tests,
            "pytest_add_cli_args": ("-p", "no:cacheprovider"),
        }
        lines = [
            f"{key} = {msgspec.json.encode(value).decode()}" for key, value in configuration.items()
        ]
        # Seconds, and times what the tests of a function take: they are slower while other programs run.
        lines += ["timeout_constant = 10", "timeout_multiplier = 4"]
        lines += ["track_dependencies = false", "use_git_change_detection = false"]
        # A process that has run tests has filled caches, which would hide mutants below them.
        lines += ['process_isolation = "forkserver"']
        text = "\n".join((_read(self._root / "pyproject.toml"), "[tool.mutmut]", *lines, ""))
        (self._directory / "pyproject.toml").write_text(text)

    def _run(self, *arguments: str) -> str:
        """Hypothesis tries the same examples each time where CI is set."""
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [sys.executable, "-m", "mutmut", "run", *arguments],
            cwd=self._directory,
            env={**environment, "CI": "true", "LOADLINE_EXAMPLES": "100"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        # Each line was written over many times.
        return re.sub(r"[^\n]*\r", "", done.stdout.decode())


def _result(code: int | None) -> Result:
    if code in _KILLED:
        return Result.KILLED
    if code in _TIMEOUT:
        return Result.TIMEOUT
    if code in _NO_TESTS:
        return Result.NO_TESTS
    return Result.SURVIVED if code == 0 else Result.NOT_RUN


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
