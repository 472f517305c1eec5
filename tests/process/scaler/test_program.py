"""The program as a user starts it: its exit codes and its last words; without a cluster, and with one that is away."""

import subprocess
import sys
from pathlib import Path

import pytest

from testbed import kubeconfig, ports, web
from testbed.certificates import Authority
from testbed.programs import start_program
from testbed.waiting import until

DEADLINE_SECONDS = 60


def ended(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """`loadline-scaler` with these arguments, once it has ended."""
    return subprocess.run(
        [sys.executable, "-m", "scaler", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_SECONDS,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--sync-period=15",), "'15' is not a duration", id="flag"),
        pytest.param(("run", "--tolerance=-1"), "'-1' is no ratio of 0 or more", id="flag of run"),
        pytest.param(("scale",), "no command 'scale': there is run, why", id="command"),
        pytest.param(("--kubeconfig=/nowhere",), "kubeconfig /nowhere: no such file", id="file"),
        pytest.param(("run",), "or set $KUBECONFIG", id="no cluster"),
        pytest.param(("why",), "required: NAMESPACE/NAME", id="why what"),
        pytest.param(("why", "web"), "'web' is no NAMESPACE/NAME", id="why where"),
        pytest.param(
            ("why", "--server=https://example.com", "--kubeconfig={home}/config", "a/b"),
            "https://example.com is not on this machine: say with --ca-file",
            id="why whom",
        ),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_says_what_to_do(tmp_path, arguments, message):
    write_kubeconfig(tmp_path / "config", port=1)
    found = ended(*(each.replace("{home}", str(tmp_path)) for each in arguments), home=tmp_path)
    assert found.returncode == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr


def write_kubeconfig(path: Path, *, port: int) -> Path:
    """For an API server on that port of this machine, with a CA of its own."""
    authority = Authority("nobody")
    return kubeconfig.write(
        path, server=f"https://127.0.0.1:{port}", authority=authority.certificate, user="token"
    )


def test_without_an_api_server_it_stays_up_says_why_it_is_not_ready_and_ends_when_asked(tmp_path):
    config = write_kubeconfig(tmp_path / "config", port=ports.reserve())
    running = start_program(
        "scaler",
        f"--kubeconfig={config}",
        "--authentication-skip-lookup",
        log_directory=tmp_path,
        wait=False,
    )
    try:
        tls = web.trusting(None)
        until(lambda: web.is_ok(running.port, "/livez", tls=tls), what="/livez")
        ready = running.get("/readyz?verbose")
        assert ready.status == 500
        assert (
            "[-]autoscalers failed: /apis/loadline.io/v1beta1/loadautoscalers is not read yet"
            in ready.text
        )
        for guarded in ("/metrics", "/debug/decisions/a/b"):
            assert running.get(guarded).status == 503, "nobody can say who may ask"
    finally:
        assert running.stop() == 0
