"""Some compressed hours: a morning, an hour at a third of the load, and its return."""

import subprocess
import sys
from pathlib import Path

from testbed.programs import REPOSITORY

DEADLINE_SECONDS = 480
# 07:45 to 10:15. Each real second is 75 compressed ones: at 150, a machine that is busy with other tests does not keep up.
HOURS = ("--begin=7.75", "--normal=0.75", "--shifted=1", "--returned=0.75", "--speed=75")


def test_the_forecast_adds_ahead_is_suspended_by_a_shift_and_acts_again(tmp_path: Path):
    picture = tmp_path / "day.png"
    options = (*HOURS, f"--directory={tmp_path}", f"--picture={picture}")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.compressed_day", *options],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "(UnusualLoad)" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
