"""The first word chooses a command; the server pays for none of the others."""

import subprocess
import sys

import pytest


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


@pytest.mark.parametrize("library", ["prometheus_api_client", "pandas", "requests"])
def test_the_server_never_loads_what_people_s_commands_need(library):
    """A client for data frames costs a hundred megabytes in a pod that never uses it."""
    loaded = python(
        f"import sys, adapter.__main__, adapter.runtime.metrics_server; print({library!r} in sys.modules)"
    )
    assert loaded == "False"
