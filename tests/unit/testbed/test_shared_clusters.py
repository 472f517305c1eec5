"""The tests that share a cluster run in one process."""

from pathlib import Path

from tests.shared_clusters import SHARING_DIRECTORIES, scope_of

ROOT = Path(__file__).parents[3]


def test_each_directory_with_a_cluster_for_all_of_its_modules_is_a_sharing_one_and_no_other():
    """Otherwise, its modules could be divided among four processes, each of which would start one."""
    fixtures = {
        path.parent.relative_to(ROOT).as_posix(): path.read_text()
        for path in (ROOT / "tests").rglob("conftest.py")
    }
    found = {name for name, text in fixtures.items() if '@pytest.fixture(scope="package")' in text}
    assert found == set(SHARING_DIRECTORIES)
    assert all("with Cluster(" in fixtures[name] for name in found)


def test_modules_of_a_sharing_directory_run_in_one_process_and_others_on_their_own():
    modules = ("test_cache.py", "test_serving.py")
    assert {scope_of(f"tests/process/wire/{each}") for each in modules} == {"tests/process/wire"}
    assert len({scope_of(f"tests/e2e/{each}") for each in modules}) == 2
