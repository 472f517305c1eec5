"""What judges a simulated run shares no code with the programs: a wrong limit or rule in a program would excuse itself."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# The format of documents, which models of servers write, too.
SHARED = ("wire.api", "wire.kube.metadata_only")
PROGRAMS = ("adapter", "scaler", "wire", "kubectl_loadline")
# Modules with code of the programs, each with its reason.
NO_JUDGES = {
    "__main__": "imports a library before time is virtual",
    "adapter_process": "runs the adapter",
    "replica": "runs the scaler",
    "memory_scenarios": "chooses the kind of the autoscalers",
    "scenario": "has the kind of the autoscalers",
    "world": "serves the kind of the autoscalers",
    "learned_forecast": "writes what a forecast has learned, which a run begins with",
    "prometheus_model": "has no scrape times, which the adapter asks for by a label",
    "tampering": "plants a fault",
    "memory_tampering": "plants a fault",
}  # fmt: skip


def imported(path: Path) -> set[str]:
    """The modules of the programs that a module imports, without what models of servers share."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return {
        each
        for each in found
        if each.partition(".")[0] in PROGRAMS and not f"{each}.".startswith(tuple(f"{name}." for name in SHARED))
    }  # fmt: skip


def modules() -> list[Path]:
    return [
        path
        for directory in ("simulation", "hpa_model")
        for path in sorted((TESTS / directory).glob("*.py"))
        if not path.name.startswith("test_")
    ]


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.stem)
def test_only_listed_modules_of_the_simulation_import_code_of_the_programs(path):
    assert bool(imported(path)) is (path.stem in NO_JUDGES)


def test_an_import_of_the_programs_is_found(tmp_path):
    module = tmp_path / "module.py"
    module.write_text("import scaler.algorithm.restart\nfrom wire.api.meta import now\n", "utf-8")
    assert imported(module) == {"scaler.algorithm.restart"}
