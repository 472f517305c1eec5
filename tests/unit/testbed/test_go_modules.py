"""Modules are read from the proxy, whatever Go they need."""

from pathlib import Path

import pytest

from testbed import go_modules, toolchain

GO = """#!/bin/sh
# As Go 1.26 does with a module that needs 1.27.
if [ "$GOTOOLCHAIN" = local ]; then
  echo '{"Error": "k8s.io/kubernetes@v1.38.0 requires go >= 1.27.0 (running go 1.26.8; GOTOOLCHAIN=local)"}'
  exit 1
fi
echo '{"Dir": "/modules/kubernetes"}'
"""


@pytest.fixture
def go(tmp_path, monkeypatch):
    """Call it with the script that is used as the go command."""
    command = tmp_path / "go"
    found = toolchain.Toolchain(version="go1.26.8", command=command, from_wheel=False)
    monkeypatch.setattr(toolchain, "choose", lambda _: found)

    def write(script: str) -> None:
        command.write_text(script)
        command.chmod(0o755)

    return write


def test_a_module_that_needs_a_newer_go_is_read_with_that_go(go):
    go(GO)
    assert go_modules.source("k8s.io/kubernetes", "v1.38.0") == Path("/modules/kubernetes")


def test_a_module_that_cannot_be_read_is_named_with_the_cause(go):
    go('#!/bin/sh\necho \'{"Error": "not found"}\'\nexit 1\n')
    with pytest.raises(go_modules.ModuleFailed) as failed:
        go_modules.source("k8s.io/kubernetes", "v1.99.0")
    assert "k8s.io/kubernetes@v1.99.0: not found\n" in str(failed.value)
