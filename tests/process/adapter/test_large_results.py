"""Large results of Prometheus do not fill the memory of the adapter, whose pod has 512 MiB."""

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import ports, web
from testbed.processes import start
from tests.process.adapter.conftest import AdapterClient

MODULES = "tests.process.adapter"


@contextlib.contextmanager
def responding(rows: int, log_path: object) -> Iterator[str]:
    """A server whose result has so many rows, of 85 bytes each."""
    port = ports.reserve()
    command = [sys.executable, "-m", f"{MODULES}.large_responses", str(port), "1", str(rows)]
    process = start("large_responses", command, log_path=log_path)
    try:
        process.wait_until(lambda: web.get(port, "/") is not None, what="the server")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.stop()
        ports.release(port)


@pytest.mark.parametrize(
    ("rows", "results", "read", "growth_mib_max"),
    [
        pytest.param(470_000, 1, 0, 110, id="one of 40 MB"),
        pytest.param(100_000, 1, 1, 110, id="the largest that is read"),
        pytest.param(100_000, 6, 6, 140, id="six of 8 MB at a time"),
    ],
)
def test_reading_takes_no_more_than_its_share(tmp_path, rows, results, read, growth_mib_max):
    with responding(rows, tmp_path / "log") as url:
        command = [sys.executable, "-m", f"{MODULES}.reading_memory", url, str(results)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    growth_mib, *found = map(int, done.stdout.split())
    assert growth_mib < growth_mib_max
    assert found == [rows] * read + [0] * (results - read)
    assert done.stderr.count("the result is too large") == results - read


def peak_mib(pid: int) -> int:
    """The most memory that the process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) // 1024


@pytest.mark.deviation("large-results")
def test_an_adapter_refuses_a_result_of_40_mb_and_says_which_and_why(
    quick_adapter, config, token, tmp_path
):
    config.write_text(
        "metrics:\n- {name: load, describes: pods, query: 'sum by (namespace, pod) (load)'}\n"
    )
    with responding(470_000, tmp_path / "log") as url:
        client = AdapterClient(quick_adapter(url, "--prometheus-timeout=60s"), token)
        before_mib = peak_mib(client.adapter.process.pid)
        code, status = client.get(
            "/apis/custom.metrics.k8s.io/v1beta1/namespaces/team-7/pods/web-7/load"
        )
        growth_mib = peak_mib(client.adapter.process.pid) - before_mib
    assert growth_mib < 110
    assert code == 500
    assert "metrics[0]" in status["message"]
    assert "the result is too large" in status["message"]
    assert "Aggregate in the query" in status["message"]
