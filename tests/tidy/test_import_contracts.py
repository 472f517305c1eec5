"""Every import contract detects violations: a forbidden import, added to a copy of the packages, breaks it."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("adapter", "scaler", "wire", "kubectl_loadline")


class Plant(msgspec.Struct, frozen=True):
    """A module, and the line that may not stand in it."""

    module: str
    line: str


PLANTS = {
    "The two programs share wire and nothing else; the plugin may import both": (
        Plant("adapter.ports", "import scaler.cluster.scales"),
    ),
    "wire: types below, the cluster and the server above": (
        Plant("wire.kube.cache", "import wire.serving.server"),
        Plant("wire.api.status", "import wire.process.logs"),
    ),
    "wire.api: documents are built from their text forms": (
        Plant("wire.api.quantity", "import wire.api.labels"),
    ),
    "adapter: a request flows one way": (
        Plant("adapter.ports", "import adapter.config"),
        Plant("adapter.answer.query_plan", "import adapter.diagnosis"),
        Plant("adapter.wide.proof", "import adapter.answer.query_plan"),
        Plant("adapter.documents.render", "import adapter.promql.ages"),
        Plant("adapter.templates.parser", "import adapter.promql.naming"),
        Plant("adapter.diagnosis", "import adapter.runtime"),
        Plant("adapter.serve", "import adapter.runtime"),
        Plant("adapter.runtime", "import adapter.commands"),
    ),
    "scaler: a reconcile flows one way": (
        Plant("scaler.api.autoscaler", "import scaler.algorithm.decide"),
        Plant("scaler.algorithm.decide", "import scaler.cluster.scales"),
        Plant("scaler.extensions.panic", "import scaler.control.reconcile"),
        Plant("scaler.cluster.scales", "import scaler.control.reconcile"),
        Plant("scaler.control.reconcile", "import scaler.runtime.flags"),
    ),
    "kubectl_loadline: commands above what they show, the cluster below": (
        Plant("kubectl_loadline.cluster.connecting", "import kubectl_loadline.page.series"),
        Plant("kubectl_loadline.backtest.text", "import kubectl_loadline.suggest.text"),
        Plant("kubectl_loadline.decisions.last", "import kubectl_loadline.commands.why"),
    ),
    "scaler: only the wiring knows which extensions there are": (
        Plant("scaler.algorithm.decide", "import scaler.extensions.panic"),
        Plant("scaler.control.reconcile", "import scaler.extensions"),
        Plant("scaler.cluster.scales", "import scaler.extensions.panic"),
        Plant("scaler.cluster.schedules.calendars", "import scaler.extensions.schedules.stage"),
        Plant("scaler.cluster.forecast.recorded_load", "import scaler.extensions.panic"),
    ),
    "scaler: what computes a count reads the policy, not the flags": (
        Plant("scaler.algorithm.bounds", "import scaler.algorithm.settings"),
    ),
    "The core is pure: no I/O, no clock, no randomness, no logging": (
        Plant("scaler.algorithm.guard", "import time"),
        Plant("scaler.algorithm.branch", "import logging"),
        Plant("scaler.extensions.rollout", "import random"),
        Plant("adapter.answer.query_plan", "import asyncio"),
        Plant("adapter.diagnosis.findings", "import os"),
    ),
    "Pure modules beside those that do I/O": (
        Plant("wire.kube.mapping", "import asyncio"),
        Plant("wire.serving.request_path", "import aiohttp"),
        Plant("scaler.cluster.events.correlation", "import time"),
    ),
    "Each third-party client is imported in one module": (
        Plant("adapter.ports", "import kubernetes_asyncio"),
    ),
    "kubectl loadline does not import the servers": (
        Plant("scaler.cluster.server_version", "import wire.serving.health"),
    ),
}


_SHARED = "`loadline-scaler` has it too, for the scaler's pod, where there is no kubectl"
# Modules of commands that are above the program that runs them, each with its reason.
LOADED_FROM_ABOVE = {
    ("scaler.__main__", "kubectl_loadline.decisions.last"): _SHARED,
    ("scaler.__main__", "kubectl_loadline.decisions.simulated"): _SHARED,
    ("scaler.__main__", "kubectl_loadline.commands.migrate.of_scaler"): _SHARED,
    ("kubectl_loadline.program", "kubectl_loadline.overview"): "it prints the help of the program",
}


def settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def contracts() -> list[dict[str, Any]]:
    return settings()["tool"]["importlinter"]["contracts"]


def broken_contracts(root: Path) -> dict[str, str]:
    """The contracts that import-linter reports as broken, and what it says of each. Fails if import-linter itself fails."""
    command = Path(sys.executable).with_name("lint-imports")
    outcome = subprocess.run(
        [command, "--no-logo"], cwd=root, capture_output=True, text=True, check=False
    )
    assert "Contracts: " in outcome.stdout, outcome.stdout + outcome.stderr
    broken = re.findall(r"^(.+) BROKEN\b", outcome.stdout, re.MULTILINE)
    _, *sections = re.split(r"^(.+)\n-{3,}\n", outcome.stdout, flags=re.MULTILINE)
    said = dict(zip(sections[::2], sections[1::2], strict=True))
    return {name: " ".join(said[name].split()) for name in broken}


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """Makes a copy of the packages and their contracts, to add violations to."""

    def copy() -> Path:
        root = tmp_path_factory.mktemp("packages")
        for package in PACKAGES:
            shutil.copytree(
                ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__")
            )
        shutil.copy(ROOT / "pyproject.toml", root)
        return root

    return copy


@pytest.fixture(scope="module")
def with_plants(copied) -> dict[str, str]:
    """What is reported of a copy with all plants."""
    root = copied()
    for plants in PLANTS.values():
        for plant in plants:
            path = path_of(root, plant.module)
            path.write_text(f"{path.read_text('utf-8')}\n{plant.line}\n", "utf-8")
    return broken_contracts(root)


@pytest.fixture(scope="module")
def with_unlisted(copied) -> dict[str, str]:
    """What is reported of a copy with a module outside all layers in each package."""
    root = copied()
    for package in PACKAGES:
        (root / package / "unlisted.py").write_text('"""In no layer."""\n', "utf-8")
    return broken_contracts(root)


def path_of(root: Path, module: str) -> Path:
    path = root / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def test_every_contract_has_a_planted_violation():
    assert sorted(PLANTS) == sorted(each["name"] for each in contracts())


def test_every_module_that_says_it_is_pure_is_in_a_contract_of_purity():
    pure = {
        module
        for each in contracts()
        if "time" in each.get("forbidden_modules", ())
        for module in each["source_modules"]
    }
    unlisted = [
        module
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.read_text("utf-8").startswith('"""PURE')
        and (module := ".".join(path.relative_to(ROOT).with_suffix("").parts))
        and not any(f"{module}.".startswith(f"{each}.") for each in pure)
    ]
    assert unlisted == []


def test_no_contract_is_broken(copied):
    assert broken_contracts(copied()) == {}


@pytest.mark.parametrize(
    ("contract", "plant"),
    [
        pytest.param(contract, plant, id=f"{plant.line} in {plant.module}")
        for contract, plants in PLANTS.items()
        for plant in plants
    ],
)
def test_a_planted_violation_breaks_its_contract(with_plants, contract, plant):
    imported = plant.line.removeprefix("import ")
    assert f" {plant.module} -> {imported} (l." in with_plants[contract]


@pytest.mark.parametrize(
    ("package", "contract"),
    [
        ("adapter", "adapter: a request flows one way"),
        ("scaler", "scaler: a reconcile flows one way"),
        ("kubectl_loadline", "kubectl_loadline: commands above what they show, the cluster below"),
        ("wire", "wire: types below, the cluster and the server above"),
    ],
)
def test_a_module_outside_all_layers_breaks_the_contract(with_unlisted, package, contract):
    assert f"- {package}.unlisted " in with_unlisted[contract]


def broken_by_loading(loader: str, loaded: str) -> Iterator[str]:
    """The contracts of layers that would be broken if the import, by a string, were an import statement."""
    for contract in contracts():
        for container in contract.get("containers", [""]) if contract["type"] == "layers" else []:
            prefix = f"{container}." if container else ""
            places = {
                f"{prefix}{name.strip()}": place
                for place, layer in enumerate(contract["layers"])
                for name in layer.split("|")
            }
            above, below = (
                next((name for name in places if f"{module}.".startswith(f"{name}.")), None)
                for module in (loader, loaded)
            )
            if above and below and above != below and places[above] >= places[below]:
                yield contract["name"]


def loaded_by_programs() -> Iterator[tuple[str, str]]:
    """The modules that programs load by their names, which import-linter does not see."""
    for script in settings()["project"]["scripts"].values():
        module = script.partition(":")[0]
        program = getattr(import_module(module), "PROGRAM", None)
        if program is not None:
            for command in (program.default, *program.commands):
                yield module, command.module


def test_a_program_loads_only_commands_of_its_layer_or_below():
    broken = {pair for pair in loaded_by_programs() if list(broken_by_loading(*pair))}
    assert broken == LOADED_FROM_ABOVE.keys()


@pytest.mark.parametrize(
    ("loader", "loaded", "is_broken"),
    [
        ("scaler.__main__", "adapter.commands.check", True),
        ("scaler.__main__", "kubectl_loadline.commands.why", True),
        ("wire.process.command_line.program", "scaler.runtime.run", True),
        ("kubectl_loadline.program", "kubectl_loadline.completing", True),
        ("scaler.__main__", "scaler.runtime.run", False),
        ("kubectl_loadline.program", "scaler.runtime.run", False),
    ],
)
def test_a_command_above_its_program_is_found(loader, loaded, is_broken):
    assert bool(list(broken_by_loading(loader, loaded))) is is_broken
