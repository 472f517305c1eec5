"""The demo, started and interrupted as by a user."""

import signal
import sys
from pathlib import Path

from testbed.processes import start
from testbed.waiting import until
from tests.deadline import DEADLINE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
FIRST_FRAME_SECONDS = 180
INTERRUPTED = 130


def still_running(directory: Path) -> list[str]:
    """The command lines of processes that mention `directory`, where the demo writes everything."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # not a process, or it has exited
            continue
        if str(directory) in command:
            found.append(command)
    return found


def test_ctrl_c_ends_the_demo_and_leaves_nothing_running(tmp_path):
    demo = start(
        "demo",
        [sys.executable, "-m", "testbed", "demo", "--seconds=90"],
        log_path=tmp_path / "demo.log",
        environment={"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        directory=tmp_path,
    )
    with demo:
        demo.wait_until(
            lambda: "messages waiting" in demo.log(),
            what="the first frame",
            deadline_seconds=FIRST_FRAME_SECONDS,
        )
        assert any("kube-apiserver" in command for command in still_running(tmp_path))
        demo.send_signal(signal.SIGINT)
        assert demo.wait(deadline_seconds=DEADLINE_SECONDS) == INTERRUPTED
    assert "nothing is left running" in demo.log()
    until(
        lambda: not still_running(tmp_path),
        what="all programs to exit",
        deadline_seconds=DEADLINE_SECONDS,
    )
    assert not list(tmp_path.glob("loadline-demo-*"))
