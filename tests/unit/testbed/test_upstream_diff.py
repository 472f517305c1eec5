"""What `make upstream-diff` shows of two directories with sources."""

import pytest

from testbed.upstream_diff import Followed, changes, version_of_staging

OLD = {
    "hpa/controller.go": "package hpa\n\nconst period = 15\n",
    "hpa/removed.go": "package hpa\n",
    "hpa/controller_test.go": "package hpa // old test\n",
    "hpa/zz_generated.deepcopy.go": "package hpa // old\n",
    "other/other.go": "package other // old\n",
    "gates.go": "HPAScaleToZero: off\n" + "unrelated\n" * 20 + "Pods: off\n",
}
NEW = {
    "hpa/controller.go": "package hpa\n\nconst period = 10\n",
    "hpa/added.go": "package hpa\n\nfunc added() {}\n",
    "hpa/controller_test.go": "package hpa // new test\n",
    "hpa/zz_generated.deepcopy.go": "package hpa // new\n",
    "other/other.go": "package other // new\n",
    "gates.go": "HPAScaleToZero: on\n" + "unrelated\n" * 20 + "Pods: on\n",
}


@pytest.fixture
def sources(tmp_path):
    """The directories with the sources of both versions."""
    for version, files in (("old", OLD), ("new", NEW)):
        for name, text in files.items():
            path = tmp_path / version / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return tmp_path / "old", tmp_path / "new"


def test_changed_added_and_removed_files_of_the_directory_are_shown(sources):
    found = {each.path: each for each in changes(*sources, Followed("m", "hpa", "why"))}
    assert list(found) == ["m/hpa/added.go", "m/hpa/controller.go", "m/hpa/removed.go"]
    assert "+const period = 10" in found["m/hpa/controller.go"].lines
    counted = {name.removeprefix("m/hpa/"): (c.count("+"), c.count("-")) for name, c in found.items()}  # fmt: skip
    assert counted == {"added.go": (3, 0), "controller.go": (1, 1), "removed.go": (0, 1)}


def test_upstream_tests_are_shown_on_request_only(sources):
    followed = Followed("m", "hpa", "why")
    with_tests = [each.path for each in changes(*sources, followed, include_tests=True)]
    assert "m/hpa/controller_test.go" in with_tests
    assert "m/hpa/zz_generated.deepcopy.go" not in with_tests


def test_of_a_file_about_many_things_only_the_named_changes_are_shown(sources):
    (found,) = changes(*sources, Followed("m", "gates.go", "why", only="HPA"))
    changed = [line for line in found.lines[2:] if line[0] in "+-"]
    assert changed == ["-HPAScaleToZero: off", "+HPAScaleToZero: on"]


def test_a_file_without_a_named_change_is_unchanged(sources):
    assert not list(changes(*sources, Followed("m", "gates.go", "why", only="Nothing")))


def test_staging_modules_have_the_version_of_kubernetes():
    assert version_of_staging("v1.37.2") == "v0.37.2"
