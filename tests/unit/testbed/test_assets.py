"""Paths of programs and keys of their builds."""

import shutil

import pytest

from testbed import assets, toolchain
from testbed.assets import AssetMissing, GoProgram


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A folder with a Go module, as named by `GoProgram.module`."""
    folder = tmp_path / "testbed" / "modules" / "tool"
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module tool\n\ngo 1.26.0\n")
    (folder / "go.sum").write_text("")
    (folder / "main.go").write_text("package main\n\nfunc main() {}\n")
    monkeypatch.setattr(assets, "HERE", tmp_path / "testbed")
    return folder


TOOL = GoProgram("tool", "modules/tool", ".", ldflags="-s -w", tags=("netgo",))


def test_the_same_sources_flags_and_toolchain_have_the_same_key(module, tmp_path):
    before = assets.build_key(TOOL, "go1.26.8")
    elsewhere = tmp_path / "testbed" / "modules" / "copy"
    shutil.copytree(module, elsewhere)
    copied = GoProgram("tool", "modules/copy", ".", ldflags="-s -w", tags=("netgo",))
    assert assets.build_key(copied, "go1.26.8") == before


@pytest.mark.parametrize(
    ("file_name", "content"),
    [
        pytest.param("go.mod", "module tool\n\ngo 1.26.1\n", id="other requirement"),
        pytest.param("go.sum", "x v1 h1:=\n", id="other checksum"),
        pytest.param("main.go", "package main\n\nfunc main() { println() }\n", id="other source"),
        pytest.param("more.go", "package main\n", id="additional source"),
    ],
)
def test_a_change_of_what_is_built_changes_the_key(module, file_name, content):
    before = assets.build_key(TOOL, "go1.26.8")
    (module / file_name).write_text(content)
    assert assets.build_key(TOOL, "go1.26.8") != before


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(GoProgram("tool", "modules/tool", ".", "-s", ("netgo",)), id="link flags"),
        pytest.param(GoProgram("tool", "modules/tool", ".", "-s -w", ()), id="tags"),
        pytest.param(GoProgram("tool", "modules/tool", "./cmd", "-s -w", ("netgo",)), id="package"),
        pytest.param(
            GoProgram("tool", "modules/tool", ".-s -w", "", ("netgo",)),
            id="the same text, split differently",
        ),
    ],
)
def test_a_change_of_how_it_is_built_changes_the_key(module, changed):
    assert assets.build_key(changed, "go1.26.8") != assets.build_key(TOOL, "go1.26.8")


def test_another_toolchain_changes_the_key(module):
    assert assets.build_key(TOOL, "go1.26.8") != assets.build_key(TOOL, "go1.26.9")


@pytest.mark.parametrize("name", [p.name for p in assets.PROGRAMS if isinstance(p, GoProgram)])
def test_the_error_for_a_missing_program_has_the_command_that_builds_it(
    name, tmp_path, monkeypatch
):
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("LOADLINE_CACHE", str(tmp_path))
    with pytest.raises(AssetMissing, match=f"(?s){name} is missing .*python -m testbed build"):
        assets.find(name)


def test_one_error_names_every_missing_program(tmp_path, monkeypatch):
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("LOADLINE_CACHE", str(tmp_path))
    with pytest.raises(AssetMissing, match=r"(?s)kubectl is missing.*kwok is missing"):
        assets.find_all(["etcd", "kubectl", "kwok"])


def test_programs_in_kubebuilder_assets_are_preferred(tmp_path, monkeypatch):
    ready = tmp_path / "kube-apiserver"
    ready.touch(mode=0o755)
    (tmp_path / "kubectl").touch(mode=0o644)  # not executable
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert assets.find("kube-apiserver") == ready
    assert assets.location("kubectl") != tmp_path / "kubectl"


@pytest.mark.parametrize(
    "what", [p for p in assets.PROGRAMS if isinstance(p, GoProgram)], ids=lambda p: p.name
)
def test_every_program_has_a_pinned_module(what):
    assert toolchain.required_by(what.directory) >= (1, 20, 0)
    assert (what.directory / "go.sum").stat().st_size > 0
