"""Programs stop on request and when their parent dies."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from testbed import processes
from testbed.processes import ProcessFailed, start
from testbed.waiting import until
from tests.deadline import DEADLINE_SECONDS

ROOT = Path(__file__).parents[3]
START_A_SLEEPER = """
import sys
from pathlib import Path
from testbed.processes import start
print(start("sleeper", ["sleep", "600"], log_path=Path(sys.argv[1])).pid, flush=True)
sys.stdin.read()
"""
STUBBORN = "trap '' TERM; echo ignoring; while :; do sleep 0.1; done"


def is_alive(pid: int) -> bool:
    """Whether it exists and is not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_program_dies_when_its_parent_is_killed(tmp_path):
    command = [sys.executable, "-c", START_A_SLEEPER, str(tmp_path / "log")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.kill()
        parent.wait()
        until(
            lambda: not is_alive(pid), what="the sleeper to die", deadline_seconds=DEADLINE_SECONDS
        )


def test_a_program_outlives_the_thread_that_started_it(tmp_path):
    started: list[processes.Process] = []
    thread = threading.Thread(
        target=lambda: started.append(start("sleeper", ["sleep", "600"], log_path=tmp_path / "log"))
    )
    thread.start()
    thread.join()
    with started[0] as sleeper:
        until(
            lambda: Path(f"/proc/{sleeper.pid}/comm").read_text() == "sleep\n",
            what="exec",
        )
        assert sleeper.exit_code is None


def test_a_program_whose_parent_is_gone_does_not_start(tmp_path):
    command = [
        sys.executable,
        "-S",
        "-E",
        str(processes.DIE_WITH_PARENT),
        "1",
        "touch",
        str(tmp_path / "started"),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "is gone" in done.stderr
    assert not (tmp_path / "started").exists()


def test_stop_sends_sigterm_first(tmp_path):
    with start("sleeper", ["sleep", "600"], log_path=tmp_path / "log") as sleeper:
        until(
            lambda: Path(f"/proc/{sleeper.pid}/comm").read_text() == "sleep\n",
            what="exec",
        )
        assert sleeper.stop() == -signal.SIGTERM
        assert sleeper.stop() == -signal.SIGTERM  # stopping again does nothing


def test_a_program_that_ignores_sigterm_is_killed(tmp_path):
    with start("stubborn", ["sh", "-c", STUBBORN], log_path=tmp_path / "log") as stubborn:
        stubborn.wait_until(lambda: "ignoring" in stubborn.log(), what="the trap")
        assert stubborn.stop(grace_seconds=0.2) == -signal.SIGKILL


def test_the_error_for_a_program_that_exits_early_shows_its_log(tmp_path):
    log_path = tmp_path / "log"
    command = ["sh", "-c", "echo no such flag; exit 3"]
    with (
        start("broken", command, log_path=log_path) as broken,
        pytest.raises(
            ProcessFailed, match=r"(?s)broken: ended with exit code 3 before ready.*no such flag"
        ) as failed,
    ):
        broken.wait_until(lambda: False, what="ready", deadline_seconds=10)
    assert str(log_path) in str(failed.value)
    assert log_path in processes.log_paths()


def test_waiting_for_a_program_ends_at_the_deadline(tmp_path):
    with (
        start("slow", ["sleep", "600"], log_path=tmp_path / "log") as slow,
        pytest.raises(ProcessFailed, match=r"slow: waited 0\.2 s for ready"),
    ):
        slow.wait_until(lambda: False, what="ready", deadline_seconds=0.2)


def test_the_log_names_a_program_that_does_not_exist(tmp_path):
    with start("nothing", ["/no/such/program"], log_path=tmp_path / "log") as nothing:
        assert nothing.wait() == 1
    assert nothing.log() == "/no/such/program: No such file or directory\n"


def test_the_environment_is_extended_not_replaced(tmp_path):
    command = ["sh", "-c", "echo $COLOUR $HOME"]
    with start("echo", command, log_path=tmp_path / "log", environment={"COLOUR": "red"}) as echo:
        echo.wait()
    assert echo.log() == f"red {os.environ['HOME']}\n"
