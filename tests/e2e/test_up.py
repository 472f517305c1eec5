"""`python -m testbed up`, as a developer runs it, stopped in every way."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.waiting import until
from tests.deadline import DEADLINE_SECONDS

REPOSITORY = Path(__file__).parent.parent.parent


def running_from(directory: Path) -> list[str]:
    """The command lines of living processes that mention `directory`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has exited meanwhile
        if str(directory) in command:
            found.append(command)
    return found


@pytest.fixture
def developer(tmp_path):
    """`up` as a child process; yields it, its directory and its output."""
    command = [sys.executable, "-m", "testbed", "up", "--nodes=1", f"--directory={tmp_path / 'up'}"]
    output = tmp_path / "output"
    with (
        output.open("w") as stream,
        subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, cwd=REPOSITORY) as up,
    ):
        yield up, tmp_path / "up", output
        up.kill()


@pytest.mark.parametrize(
    ("ending", "exit_code"),
    [
        pytest.param(signal.SIGINT, 0, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, 0, id="SIGTERM"),
        pytest.param(signal.SIGKILL, -signal.SIGKILL, id="SIGKILL"),
    ],
)
def test_it_serves_and_leaves_no_process_running(developer, ending, exit_code):
    up, directory, output = developer

    def printed_kubeconfig() -> str:
        assert up.poll() is None, output.read_text()
        [path] = re.findall(r"KUBECONFIG=(\S+)", output.read_text()) or [""]
        return path

    kubeconfig = until(printed_kubeconfig, what="the banner", deadline_seconds=90)
    kubectl = re.findall(r"alias kubectl=(\S+)", output.read_text())[0]
    command = [kubectl, f"--kubeconfig={kubeconfig}", "get", "nodes", "--output=name"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "node/node-0\n"
    assert len(running_from(directory)) == 7  # five of Kubernetes, Prometheus, and `up` itself

    up.send_signal(ending)
    assert up.wait(30) == exit_code
    until(
        lambda: not running_from(directory),
        what="all programs to end",
        deadline_seconds=DEADLINE_SECONDS,
    )
