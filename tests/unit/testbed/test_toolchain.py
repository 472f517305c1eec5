"""The choice of the Go toolchain."""

import pytest

from testbed import toolchain
from testbed.assets import PROGRAMS, GoProgram


@pytest.fixture
def go_on_path(tmp_path, monkeypatch):
    """Put a `go` with the given version on PATH, and nothing else."""

    def install(version: str) -> None:
        command = tmp_path / "go"
        command.write_text(f"#!/bin/sh\necho {version}\n")
        command.chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path))
    toolchain.on_path.cache_clear()
    yield install
    toolchain.on_path.cache_clear()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("1.26.0", (1, 26, 0), id="a go line"),
        pytest.param("go1.26.8", (1, 26, 8), id="GOVERSION"),
        pytest.param("1.26", (1, 26, 0), id="without a patch level"),
        pytest.param("go1.27rc1", (1, 27, 0), id="a release candidate"),
        pytest.param("devel go1.28-b54c0ab5 Tue", (1, 28, 0), id="a development version"),
    ],
)
def test_versions_are_parsed_to_numbers(text, numbers):
    assert toolchain.parse_version(text) == numbers


@pytest.mark.parametrize(
    ("version", "from_wheel"),
    [
        pytest.param("go1.26.0", False, id="exactly what is needed"),
        pytest.param("go1.27.1", False, id="newer"),
        pytest.param("go1.25.9", True, id="too old"),
        pytest.param("go1.9.9", True, id="too old, although its text sorts later"),
    ],
)
def test_the_go_on_path_is_used_if_it_is_new_enough(go_on_path, version, from_wheel):
    go_on_path(version)
    assert toolchain.choose((1, 26, 0)).from_wheel is from_wheel


@pytest.mark.parametrize(
    "what", [p for p in PROGRAMS if isinstance(p, GoProgram)], ids=lambda p: p.name
)
def test_the_pinned_wheel_is_new_enough_for_every_module(what):
    assert toolchain.parse_version(toolchain.in_wheel().version) >= toolchain.required_by(
        what.directory
    )


def test_without_go_on_path_the_pinned_wheel_is_used(go_on_path, tmp_path, monkeypatch):
    monkeypatch.setenv("LOADLINE_CACHE", str(tmp_path))
    chosen = toolchain.choose((1, 26, 0))
    assert chosen.from_wheel
    assert toolchain.parse_version(chosen.version) >= (1, 26, 0)
    assert tmp_path in chosen.command.parents


def test_an_unpacked_wheel_is_not_unpacked_again(go_on_path, tmp_path, monkeypatch):
    monkeypatch.setenv("LOADLINE_CACHE", str(tmp_path))
    chosen = toolchain.in_wheel()
    chosen.command.parent.mkdir(parents=True)
    chosen.command.touch()
    messages: list[str] = []
    toolchain.prepare(chosen, messages.append)
    assert messages == []
