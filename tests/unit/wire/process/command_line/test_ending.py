"""How the three programs begin and end: closed descriptors, a full disk, Ctrl-C, closed pipes."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wire.process.command_line.ending import quiet_end

PROGRAMS = {
    "kubectl loadline": "kubectl_loadline.program",
    "loadline-adapter": "adapter",
    "loadline-scaler": "scaler",
}
FULL = Path("/dev/full")
HPA = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 5
"""


def run(module, arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", module, *arguments], text=True, timeout=60, check=False, **more
    )


def without_descriptor(module, arguments, descriptor):
    """As `>&-` of a shell."""
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(
        ["sh", "-c", f'"$@" {descriptor}>&-', "sh", *command],
        text=True, capture_output=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.fixture(params=PROGRAMS)
def name(request):
    return request.param


def test_a_full_disk_is_a_message_and_no_traceback(name):
    with FULL.open("w") as full:
        done = run(PROGRAMS[name], ["--version"], stdout=full, stderr=subprocess.PIPE)
    assert done.stderr == f"{name}: stdout cannot be written: No space left on device\n"
    assert done.returncode == 1


def test_a_full_disk_for_both_streams_ends_with_1(name):
    with FULL.open("w") as full:
        assert run(PROGRAMS[name], ["--version"], stdout=full, stderr=full).returncode == 1


def test_without_a_reader_the_output_ends_quietly(name):
    read, write = os.pipe()
    os.close(read)
    done = run(PROGRAMS[name], ["--version"], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("descriptor", [0, 1, 2])
def test_a_closed_descriptor_is_dev_null(name, descriptor):
    done = without_descriptor(PROGRAMS[name], ["--version"], descriptor)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(name) == (descriptor != 1)


@pytest.mark.parametrize("descriptor", [0, 1, 2])
def test_a_command_with_an_event_loop_needs_no_open_descriptor(tmp_path, descriptor):
    """uvloop aborts the process if a file of its own is one of the standard streams."""
    kubeconfig = tmp_path / "missing"
    for module in ("scaler", "kubectl_loadline.program"):
        arguments = ["migrate", f"--kubeconfig={kubeconfig}"]
        assert without_descriptor(module, arguments, descriptor).returncode == 2


@pytest.mark.parametrize("name", ["kubectl loadline", "loadline-scaler"])
def test_a_closed_stdin_has_nothing_to_convert(name):
    done = without_descriptor(PROGRAMS[name], ["migrate", "-"], 0)
    assert done.returncode == 1
    assert "migrate: - has no HorizontalPodAutoscaler" in done.stderr


@pytest.mark.parametrize("name", ["kubectl loadline", "loadline-scaler"])
def test_results_on_a_full_disk_end_with_1(name, tmp_path):
    file = tmp_path / "hpa.yaml"
    file.write_text(HPA)
    with FULL.open("w") as full:
        done = run(PROGRAMS[name], ["migrate", str(file)], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.endswith(f"{name}: stdout cannot be written: No space left on device\n")
    assert "Traceback" not in done.stderr


def test_ctrl_c_between_two_requests_exits_with_130():
    def interrupted():
        raise KeyboardInterrupt

    assert quiet_end("program", interrupted) == 130


def failing(error):
    def work():
        raise error

    return work


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "file"),
        OSError(errno.EMFILE, "Too many open files"),
    ],
    ids=["of a file", "of something else"],
)
def test_another_error_of_the_system_is_a_bug_with_its_traceback(error):
    with pytest.raises(OSError, match=error.strerror):
        quiet_end("program", failing(error))
