"""CPU time and memory of a process, from proc(5)."""

import os
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of all its threads since its start; resolution 10 ms."""
    # The second field is the program's name in parentheses, which may contain anything.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def rss_mib(pid: int) -> float:
    """Current resident set size."""
    return _memory_mib(pid, "VmRSS")


def peak_rss_mib(pid: int) -> float:
    """Greatest resident set size since its start, or since `forget_peak`."""
    return _memory_mib(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    """Count `peak_rss_mib` from now on."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _memory_mib(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} has no resident memory: it has exited")
