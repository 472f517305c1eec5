"""The previous release is built from its commit alone."""

import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from testbed import previous_release
from testbed.previous_release import ReleaseMissing


def test_the_error_for_a_clone_without_the_commit_says_how_to_fetch_it(tmp_path):
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    with pytest.raises(ReleaseMissing) as failed:
        previous_release.source(repository=tmp_path)
    assert "git fetch --unshallow" in str(failed.value)
    assert previous_release.COMMIT in str(failed.value)


def test_the_error_without_git_says_that_it_is_missing(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ReleaseMissing, match="git is not installed"):
        previous_release.source()


def test_the_commit_has_the_version_of_the_release():
    version = previous_release.VERSION.removeprefix("v")
    with tarfile.open(fileobj=BytesIO(previous_release.source())) as archive:
        for path in ("charts/adapter/Chart.yaml", "charts/scaler/Chart.yaml"):
            read = archive.extractfile(path)
            assert read is not None
            assert f"\nversion: {version}\n" in read.read().decode()


def test_the_programs_of_the_release_run_with_their_own_code(tmp_path):
    code = previous_release.install_programs(tmp_path / "code")
    names = "import adapter, scaler, wire; print(adapter.__file__, scaler.__file__, wire.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", names], cwd=code, capture_output=True, text=True, check=True
    )
    assert all(Path(each).is_relative_to(code) for each in done.stdout.split())
