"""The cases of the newest version's own tests, recorded while they run."""

import os
import subprocess
import tempfile
from pathlib import Path

import msgspec

from testbed.oracle.scaler.build import build
from testbed.oracle.scaler.cases import Case
from testbed.oracle.scaler.versions import NEWEST

# A thousand autoscalers, alike but for their names.
_LEFT_OUT = {"TestOracle", "TestMultipleHPAs"}


def upstream_cases() -> list[Case]:
    """The cases of every test, once each. One process per test: some leave controllers running behind them."""
    binary = build(NEWEST, with_tape=True)
    with tempfile.TemporaryDirectory() as directory:
        tape = Path(directory) / "tape"
        for name in _names(binary):
            subprocess.run(
                [binary, "-test.run", f"^{name}$"],
                env=os.environ | {"TAPE_OUTPUT": str(tape)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
            )
        lines = dict.fromkeys(tape.read_bytes().splitlines())
    found = [_case(line) for line in lines]
    # Where a test switches this gate off, it lets the code behave as an older version.
    return [case for case in found if case.settings.configurable_tolerance]


def _case(line: bytes) -> Case:
    """Go writes null for a map or list that was never made; the types here need an empty one."""
    for field, empty in ((b"usage", b"{}"), (b"items", b"[]")):
        line = line.replace(b'"%b":null' % field, b'"%b":%b' % (field, empty))
    return msgspec.json.decode(line, type=Case)


def _names(binary: Path) -> list[str]:
    listed = subprocess.run(
        [binary, "-test.list", "."], stdout=subprocess.PIPE, check=True, text=True
    )
    return [name for name in listed.stdout.split() if name not in _LEFT_OUT]
