"""Paths of programs and keys of their builds."""

import re
import shutil

import pytest

from scaler.api import upstream
from testbed import assets, toolchain
from testbed.assets import AssetMissing, GoProgram
from testbed.cluster_options import ClusterOptions


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


def test_without_a_choice_the_testbed_runs_the_newest_kubernetes(monkeypatch):
    monkeypatch.delenv(assets.CHOICE, raising=False)
    assert assets.chosen_kubernetes() == f"1.{upstream.NEWEST.minor}"
    assert ClusterOptions().kubernetes_suffix == ""


def test_the_chosen_minor_version_selects_the_programs_of_kubernetes_only(monkeypatch):
    monkeypatch.setenv(assets.CHOICE, "1.36")
    assert ClusterOptions().kubernetes_suffix == "-1.36"
    chosen = [assets.chosen_program(name) for name in ("kube-apiserver", "etcd")]
    assert chosen == ["kube-apiserver-1.36", "etcd"]


def test_a_minor_version_that_cannot_be_built_is_an_error_with_those_that_can(monkeypatch):
    monkeypatch.setenv(assets.CHOICE, "1.30")
    with pytest.raises(AssetMissing, match=r"LOADLINE_KUBERNETES=1\.30: .* 1\.37, 1\.36, 1\.35"):
        ClusterOptions()


@pytest.mark.parametrize("each", upstream.UPSTREAMS, ids=lambda each: f"1.{each.minor}")
def test_the_api_server_of_every_version_in_the_table_can_be_built(each):
    suffix = assets.suffix_of(f"1.{each.minor}")
    built = {assets.program(f"{component}{suffix}") for component in assets.COMPONENTS}
    assert {f"gitVersion=v1.{each.minor}." in program.ldflags for program in built} == {True}


@pytest.mark.parametrize("minor", assets.KUBERNETES_VERSIONS)
def test_the_version_that_is_reported_is_the_version_that_is_built(minor):
    apiserver = assets.program(f"kube-apiserver{assets.suffix_of(minor)}")
    assert isinstance(apiserver, GoProgram)
    version = assets.KUBERNETES_VERSIONS[minor]
    required = (apiserver.directory / "go.mod").read_text()
    assert re.search(rf"\bk8s.io/kubernetes {re.escape(version)}\n", required)
    staging = version.replace("v1.", "v0.")
    assert f"k8s.io/apiserver => k8s.io/apiserver {staging}\n" in required
