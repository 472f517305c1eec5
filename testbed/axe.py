"""axe-core, the accessibility checker: `python -m testbed.axe` prints the path of its script.

It is downloaded once with npm, as its pinned and hashed package, into the cache of the testbed.
"""

import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from testbed.cache import kept

VERSION: Final = "4.14.1"
SHA512: Final = (
    "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)


class AxeInvalid(Exception):
    """The package is not the pinned one."""


def script() -> Path:
    """The path of axe.min.js. Raises `AxeInvalid`, and what npm fails with."""
    return kept("axe-core", f"axe-core-{VERSION}.min.js", _downloaded)


def _downloaded() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        npm = ["npm", "pack", "--silent", f"axe-core@{VERSION}"]
        subprocess.run(npm, cwd=directory, check=True, capture_output=True)
        package = Path(directory, f"axe-core-{VERSION}.tgz")
        found = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
        if found != SHA512:
            raise AxeInvalid(f"axe-core {VERSION} has the hash {found} instead of {SHA512}")
        with tarfile.open(package) as archive:
            member = archive.extractfile("package/axe.min.js")
            if member is None:
                raise AxeInvalid("the package has no axe.min.js")
            return member.read()


if __name__ == "__main__":
    print(script())
    sys.exit(0)
