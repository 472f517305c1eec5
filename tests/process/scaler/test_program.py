"""The program as a user starts it: exit codes and error messages, without a cluster or with one that is down."""

import subprocess
import sys
from pathlib import Path

import pytest

from testbed import kubeconfig, ports, web
from testbed.certificates import Authority
from testbed.programs import start_program
from testbed.waiting import until

DEADLINE_SECONDS = 60


def run_scaler(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run `loadline-scaler` with these arguments to its end."""
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
        pytest.param(
            ("run", "--tolerance=-1"), "'-1' is not a ratio of 0 or more", id="flag of run"
        ),
        pytest.param(("scale",), "unknown command 'scale'", id="command"),
        pytest.param(("--kubeconfig=/nowhere",), "kubeconfig /nowhere: no such file", id="file"),
        pytest.param(("run",), "or set $KUBECONFIG", id="no cluster"),
        pytest.param(("why",), "required: NAMESPACE/NAME", id="why without a name"),
        pytest.param(
            ("why", "web"), "'web' is not of the form NAMESPACE/NAME", id="why without a namespace"
        ),
        pytest.param(
            ("why", "--server=https://example.com", "--kubeconfig={home}/config", "a/b"),
            "the certificate of https://example.com cannot be verified",
            id="why of an unverified server",
        ),
    ],
)
def test_a_wrong_command_line_exits_with_2_and_names_the_fix(tmp_path, arguments, message):
    write_kubeconfig(tmp_path / "config", port=1)
    found = run_scaler(
        *(each.replace("{home}", str(tmp_path)) for each in arguments), home=tmp_path
    )
    assert found.returncode == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr


def write_kubeconfig(path: Path, *, port: int) -> Path:
    """A kubeconfig for an API server on that local port, with a CA of its own."""
    authority = Authority("unknown")
    return kubeconfig.write(
        path, server=f"https://127.0.0.1:{port}", authority=authority.certificate, user="token"
    )


def test_without_an_api_server_it_stays_alive_reports_why_it_is_not_ready_and_stops_on_sigterm(
    tmp_path,
):
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
        assert "[-]autoscalers failed: reason withheld" in ready.text
        reason = "autoscalers: /apis/loadline.io/v1beta1/loadautoscalers has not been listed yet"
        assert reason in running.process.log(), "no client can be authenticated, so it is logged"
        for guarded in ("/metrics", "/debug/decisions/a/b"):
            assert running.get(guarded).status == 503, "no API server to authenticate with"
    finally:
        assert running.stop() == 0
