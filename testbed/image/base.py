"""A root directory in place of the base image: this Python with its standard library, pip, and the tools that the steps use.

The base image cannot be downloaded without a registry. What is missing here is missing there too, so a step or a wheel
that needs another library or tool fails.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

import pip

TOOLS = ("sh", "awk", "ln", "rm", "setpriv")
"""Of the packages that Debian's base always has."""
LIBRARIES = ("libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libstdc++.so.6")
"""Which wheels may need and Python does not: of glibc, and that of apt."""
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/"}
DIRECTORIES = ("bin", "dev", "etc", "proc", "run", "tmp", "usr/bin", "usr/local/bin", "var")
PIP = '#!/bin/sh\nexec /usr/local/bin/python -m pip "$@"\n'
# The Python of Debian refuses to install packages where there is the last one.
LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", "site-packages", "dist-packages", "config-*", "test", "tests", "idlelib",
    "EXTERNALLY-MANAGED",
)  # fmt: skip


def make(root: Path) -> None:
    """Fill an empty directory."""
    root.chmod(0o755)
    for name in DIRECTORIES:
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "var" / "run").symlink_to("../run")
    (root / "etc" / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    _add_tools(root)
    _add_python(root)
    _add_pip(root)


def _add_tools(root: Path) -> None:
    for name in TOOLS:
        found = shutil.which(name)
        if found is None:
            raise FileNotFoundError(f"{name} is not on the PATH, and the steps of the image use it")
        shutil.copy(found, root / "bin" / name)
        _add_libraries(root, [Path(found)])


def _add_python(root: Path) -> None:
    version = f"python3.{sys.version_info.minor}"
    interpreter = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]  # noqa: SLF001  as venv does
    binaries, library = root / "usr" / "local" / "bin", root / "usr" / "local" / "lib" / version
    shutil.copy(interpreter, binaries / version)
    for alias in ("python", "python3"):
        (binaries / alias).symlink_to(version)
    shutil.copytree(sysconfig.get_path("stdlib"), library, ignore=LEFT_OUT)
    (library / "site-packages").mkdir()
    # Where the Python of Debian looks for packages, which may be this one.
    (library / "dist-packages").symlink_to("site-packages")
    extensions = [interpreter, *(library / "lib-dynload").glob("*.so")]
    _add_libraries(root, extensions)
    _add_named_libraries(root)


def _add_pip(root: Path) -> None:
    package = Path(pip.__file__).parent
    (library,) = root.glob("usr/local/lib/python*/site-packages")
    for each in (package, *package.parent.glob("pip-*.dist-info")):
        shutil.copytree(each, library / each.name, ignore=LEFT_OUT)
    wrapper = root / "usr" / "local" / "bin" / "pip"
    wrapper.write_text(PIP)
    wrapper.chmod(0o755)


def _add_libraries(root: Path, programs: Iterable[Path]) -> None:
    """Copy the shared libraries that programs and extension modules load, to the same paths."""
    done = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False)
    for library in set(re.findall(r"(/\S+) \(0x", done.stdout)):
        _add_file(root, Path(library))


def _add_named_libraries(root: Path) -> None:
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    for name in LIBRARIES:
        found = re.search(rf"^\s*{re.escape(name)} .*=> (\S+)", known, re.MULTILINE)
        if found is None:
            raise FileNotFoundError(f"{name} is not installed, and the base image has it")
        _add_file(root, Path(found[1]))
        _add_libraries(root, [Path(found[1])])


def _add_file(root: Path, path: Path) -> None:
    copy = root / path.relative_to("/")
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
