"""The tests that share a cluster run in one process."""

from pathlib import Path

import pytest

from tests.shared_clusters import SHARING_DIRECTORIES, scope_of

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("directory", SHARING_DIRECTORIES)
def test_each_sharing_directory_has_a_cluster_of_its_own_for_all_of_its_modules(directory):
    fixtures = (ROOT / directory / "conftest.py").read_text()
    assert '@pytest.fixture(scope="package")' in fixtures
    assert "with Cluster(" in fixtures


def test_no_other_directory_starts_a_cluster_for_all_of_its_modules():
    """Its modules could be divided among four processes, each of which would start one."""
    found = {
        path.parent.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("conftest.py")
        if 'scope="package"' in path.read_text()
    }
    assert found == set(SHARING_DIRECTORIES)


def test_modules_of_a_sharing_directory_run_in_one_process_and_others_on_their_own():
    modules = ("test_cache.py", "test_serving.py")
    assert {scope_of(f"tests/process/wire/{each}") for each in modules} == {"tests/process/wire"}
    assert len({scope_of(f"tests/e2e/{each}") for each in modules}) == 2
