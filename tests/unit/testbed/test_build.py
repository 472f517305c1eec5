"""Making what is missing, with a compiler that does what a test says."""

import io
import threading

import pytest

from testbed import assets, toolchain
from testbed.assets import GoProgram
from testbed.build import BuildFailed, build
from testbed.progress import Progress

TOOL = GoProgram("tool", "modules/tool", "./cmd/tool", ldflags="-X main.version=1 -s")
# Writes its arguments and settings where `-o` says, as the program it "compiled".
WRITES_ITS_ARGUMENTS = """
all="$*"
while [ "$1" != -o ]; do shift; done
echo "compiled" >> {counter}
echo "$all CGO_ENABLED=$CGO_ENABLED GOTOOLCHAIN=$GOTOOLCHAIN" > "$2"
chmod +x "$2"
"""


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """A module of one program, an empty cache, and a `go` whose script is given by the test."""
    module = tmp_path / "testbed" / "modules" / "tool"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module tool\n\ngo 1.26.0\n")
    command = tmp_path / "go"

    def install(script: str) -> None:
        version = '#!/bin/sh\nif [ "$1" = env ]; then echo go1.26.8; exit; fi\n'
        command.write_text(version + script)
        command.chmod(0o755)

    monkeypatch.setattr(assets, "HERE", tmp_path / "testbed")
    monkeypatch.setattr(assets, "PROGRAMS", (TOOL,))
    monkeypatch.setenv("LOADLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    toolchain.on_path.cache_clear()
    yield install
    toolchain.on_path.cache_clear()


def test_a_missing_program_is_compiled_once_with_the_tables_flags(compiler, tmp_path):
    compiler(WRITES_ITS_ARGUMENTS.format(counter=tmp_path / "counter"))
    said = io.StringIO()
    build(["tool"], Progress(said))
    arguments = assets.find("tool").read_text()
    assert f"build -C {TOOL.directory} -v -tags  -ldflags -X main.version=1 -s -o " in arguments
    assert arguments.endswith("./cmd/tool CGO_ENABLED=0 GOTOOLCHAIN=local\n")
    assert "not in the cache yet" in said.getvalue()

    build(["tool"], Progress(said))
    assert said.getvalue().endswith(f"ready: {assets.find('tool')}\n")
    assert (tmp_path / "counter").read_text() == "compiled\n"


def test_two_builders_at_once_compile_once(compiler, tmp_path):
    compiler(WRITES_ITS_ARGUMENTS.format(counter=tmp_path / "counter"))
    both = [
        threading.Thread(target=build, args=(["tool"], Progress(io.StringIO()))) for _ in range(2)
    ]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert (tmp_path / "counter").read_text() == "compiled\n"


def test_a_failed_build_shows_the_compilers_words_and_how_to_go_on(compiler):
    compiler("echo 'tool.go:1:1: expected package' >&2; exit 1\n")
    with pytest.raises(
        BuildFailed, match=r"(?s)exit code 1.*expected package.*run it again.*testbed build"
    ):
        build(["tool"], Progress(io.StringIO()))
    with pytest.raises(assets.AssetMissing):
        assets.find("tool")


def test_a_failed_build_goes_on_where_the_fault_is_mended(compiler, tmp_path):
    compiler("exit 1\n")
    with pytest.raises(BuildFailed):
        build(["tool"], Progress(io.StringIO()))
    compiler(WRITES_ITS_ARGUMENTS.format(counter=tmp_path / "counter"))
    build(["tool"], Progress(io.StringIO()))
    assert assets.find("tool").exists()
