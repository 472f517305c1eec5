"""`python -m benchmarks.compressed_day.scaler_process SPEED START BEGIN FLAGS...`: loadline-scaler in compressed time.

START are the Unix seconds at which compressed time begins, BEGIN is that moment on the monotonic clock of this machine.
The flags are those of `loadline-scaler run`; all durations are in compressed seconds.
"""

import asyncio
import sys
from importlib.metadata import version

from benchmarks.compressed_day.compressed_time import CompressedLoop, CompressedTime
from scaler.runtime.run import parse
from scaler.runtime.scaler import run_scaler
from wire.process.logs import start_logging


def main(speed: str, start: str, begin: str, *flags: str) -> int:
    """Scale until SIGTERM; returns the exit code."""
    compressed = CompressedTime(
        speed=float(speed), start_unix_seconds=float(start), begins_at_seconds=float(begin)
    )
    options = parse(flags)
    start_logging(options.logging, packages=("scaler", "wire"), debug_level=4)
    with asyncio.Runner(loop_factory=lambda: CompressedLoop(compressed)) as runner:
        program = run_scaler(options, version("loadline-autoscaler"), clock=compressed.clock)
        return runner.run(program)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
