"""No file in the repository contains anything that is specific to one machine."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Split, so that this file does not match itself.
HOMES = re.compile(
    "|".join(
        (r"/" + r"home/[a-z]", r"/" + r"Users/[A-Za-z]", r"/" + r"root/", r"[A-Z]:\\" + "Users")
    )
)
REGISTRIES = re.compile(
    "|".join(
        re.escape(host)
        for host in (
            "pypi" + ".org", "pythonhosted" + ".org", "registry.npmjs" + ".org",
            "proxy.golang" + ".org", "sum.golang" + ".org", "index.crates" + ".io",
        )
    )
)  # fmt: skip
# Paths inside a container image are the same on all machines.
INSIDE_AN_IMAGE = {"Dockerfile"}
TEXT_BYTES_MAX = 2_000_000


def tracked_texts() -> list[tuple[str, str]]:
    """All files that are tracked or about to be tracked, with their text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    )  # fmt: skip
    texts = []
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        if name and path.is_file() and path.stat().st_size <= TEXT_BYTES_MAX:
            texts.append((name, path.read_bytes().decode("utf-8", "replace")))
    return texts


def found(pattern: re.Pattern[str], *, except_in: set[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in tracked_texts()
        if name not in except_in and pattern.search(text)
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_file_names_a_path_of_one_machine():
    assert "\n".join(found(HOMES, except_in=INSIDE_AN_IMAGE)) == ""


def test_no_file_names_a_package_registry():
    """Builds use the configured registry; the hashes pin the packages."""
    assert "\n".join(found(REGISTRIES, except_in=set())) == ""
