"""Building missing programs, with a scripted compiler."""

import io
import threading

import pytest

from testbed import assets, toolchain
from testbed.assets import GoProgram
from testbed.build import BuildFailed, build
from testbed.progress import Progress

TOOL = GoProgram("tool", "modules/tool", "./cmd/tool", ldflags="-X main.version=1 -s")
# Writes its arguments and settings to the file after `-o`, as the "compiled" program.
WRITES_ITS_ARGUMENTS = """
all="$*"
while [ "$1" != -o ]; do shift; done
echo "compiled" >> {counter}
echo "$all CGO_ENABLED=$CGO_ENABLED GOTOOLCHAIN=$GOTOOLCHAIN" > "$2"
chmod +x "$2"
"""


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """A module with one program, an empty cache, and a `go` command whose script is given by the test."""
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


def test_a_missing_program_is_compiled_once_with_its_flags(compiler, tmp_path):
    compiler(WRITES_ITS_ARGUMENTS.format(counter=tmp_path / "counter"))
    output = io.StringIO()
    build(["tool"], Progress(output))
    arguments = assets.find("tool").read_text()
    assert f"build -C {TOOL.directory} -v -tags  -ldflags -X main.version=1 -s -o " in arguments
    assert arguments.endswith("./cmd/tool CGO_ENABLED=0 GOTOOLCHAIN=local\n")
    assert "not in the cache yet" in output.getvalue()

    build(["tool"], Progress(output))
    assert output.getvalue().endswith(f"ready: {assets.find('tool')}\n")
    assert (tmp_path / "counter").read_text() == "compiled\n"


def test_two_concurrent_builds_compile_once(compiler, tmp_path):
    compiler(WRITES_ITS_ARGUMENTS.format(counter=tmp_path / "counter"))
    both = [
        threading.Thread(target=build, args=(["tool"], Progress(io.StringIO()))) for _ in range(2)
    ]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert (tmp_path / "counter").read_text() == "compiled\n"


def test_a_failed_build_shows_the_compiler_output_and_the_next_command(compiler):
    compiler("echo 'tool.go:1:1: expected package' >&2; exit 1\n")
    with pytest.raises(
        BuildFailed, match=r"(?s)exit code 1.*expected package.*run it again.*testbed build"
    ):
        build(["tool"], Progress(io.StringIO()))
    with pytest.raises(assets.AssetMissing):
        assets.find("tool")


def test_a_failed_build_can_be_repeated(compiler, tmp_path):
    compiler("exit 1\n")
    with pytest.raises(BuildFailed):
        build(["tool"], Progress(io.StringIO()))
    compiler(WRITES_ITS_ARGUMENTS.format(counter=tmp_path / "counter"))
    build(["tool"], Progress(io.StringIO()))
    assert assets.find("tool").exists()
