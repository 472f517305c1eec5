"""Memory that goes back to the operating system."""

import subprocess
import sys

MEASURED = """
import sys
from wire.process.allocator import return_large_blocks
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
if sys.argv[1] == "set":
    return_large_blocks()
del (first := [bytearray(1 << 20) for _ in range(40)])[:]
before = resident()
large, small = [], []
for _ in range(40):
    large.append(bytearray(900_000))
    small.append(bytearray(2000))
large.clear()
print(resident() - before)
"""


def held_bytes(mode: str) -> int:
    """What a process still holds after it has freed 36 MB in blocks of 900 kB between small ones."""
    run = [sys.executable, "-c", MEASURED, mode]
    return int(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


def test_freed_blocks_are_returned_although_small_blocks_lie_between_them():
    assert held_bytes("set") < 4 << 20
