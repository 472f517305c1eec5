"""How much the memory of a process grows at most while it reads large results; writes it in MiB, and the rows of each.

`python -m tests.process.adapter.reading_memory URL RESULTS`
"""

import asyncio
import re
import sys
from pathlib import Path

from adapter.fetch.prometheus import PrometheusClient
from adapter.model import Backend, Plan
from adapter.ports import QueryFailed
from wire.process import event_loop
from wire.prometheus.access import FileCredentials


def status_mib(field: str) -> float:
    """A field of this process' status that is a size."""
    [size] = re.findall(
        rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE
    )
    return int(size) / 1024


async def main(url: str, results: int) -> None:
    """Read so many results at once."""
    backend = Backend(url=url, timeout_seconds=60.0)
    client = PrometheusClient(backend, FileCredentials(backend))

    async def rows(number: int) -> int:
        plan = Plan(f"up + {number}", key_labels=("namespace", "pod"))
        try:
            return len((await client.evaluate(plan)).samples)
        except QueryFailed as error:
            sys.stderr.write(f"{error.cause}\n")
            return 0

    before = status_mib("VmRSS")
    found = await asyncio.gather(*map(rows, range(results)))
    growth_mib = status_mib("VmHWM") - before
    sys.stdout.write(f"{growth_mib:.0f} {' '.join(map(str, found))}\n")
    await client.close()


if __name__ == "__main__":
    event_loop.run(main(sys.argv[1], int(sys.argv[2])))
