"""Concurrent builds share one cache."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed import cache
from testbed.waiting import until

HOLD = """
import sys
from testbed import cache
with cache.locked("tool", on_wait=lambda text: print(text, flush=True)):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LOADLINE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def holder():
    """Another process that holds the lock until its input ends."""
    command = [sys.executable, "-c", HOLD]
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env=dict(os.environ),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_build_waits_and_names_the_process_that_it_waits_for(holder):
    messages: list[str] = []

    def release(text: str) -> None:
        messages.append(text)
        holder.stdin.close()

    with cache.locked("tool", on_wait=release):
        until(lambda: holder.poll() is not None, what="the holder to end")
    assert messages == [f"process {holder.pid} is building it; waiting"]


def test_a_killed_build_does_not_block_the_next_one(holder):
    holder.kill()
    holder.wait()
    messages: list[str] = []
    with cache.locked("tool", on_wait=messages.append):
        assert messages == []


def test_different_programs_are_built_concurrently(holder):
    messages: list[str] = []
    with cache.locked("another", on_wait=messages.append):
        assert messages == []


def test_a_file_is_published_complete(tmp_path):
    target = tmp_path / "bin" / "tool"
    with cache.published(target) as unfinished:
        unfinished.write_text("half")
        assert not target.exists()
        unfinished.write_text("complete")
    assert target.read_text() == "complete"
    assert list(target.parent.iterdir()) == [target]


def test_a_failed_build_publishes_nothing(tmp_path):
    target = tmp_path / "bin" / "tool"

    def interrupted() -> None:
        with cache.published(target) as unfinished:
            unfinished.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(target.parent.iterdir()) == []


def test_the_partial_file_of_a_killed_build_is_not_used(tmp_path):
    target = tmp_path / "bin" / "tool"
    target.parent.mkdir()
    (target.parent / ".tool.unfinished").write_text("left")
    with cache.published(target) as unfinished:
        assert not unfinished.exists()
        unfinished.write_text("new")
    assert target.read_text() == "new"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({"LOADLINE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a", id="LOADLINE_CACHE"),
        pytest.param({"XDG_CACHE_HOME": "/b"}, "/b/loadline", id="XDG_CACHE_HOME"),
        pytest.param({}, "/somewhere/.cache/loadline", id="home directory"),
    ],
)
def test_the_cache_is_outside_the_checkout(environment, expected, monkeypatch):
    for name in ("LOADLINE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/somewhere")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache.root() == Path(expected)
