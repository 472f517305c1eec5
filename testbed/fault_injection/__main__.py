"""`python -m testbed.fault_injection FIRST LAST`: run these seeds; exit code 1 after a violation."""

import sys
import tempfile
from pathlib import Path

from testbed.fault_injection.campaign import campaign, report

if __name__ == "__main__":
    first, last = (int(text) for text in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as directory:
        result = campaign(range(first, last), Path(directory))
    report(result)
    for violation in result.violations:
        print(violation)
    sys.exit(bool(result.violations))
