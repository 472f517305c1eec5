"""The durations of the tests, from JUnit files."""

from pathlib import Path

from testbed.durations import (
    DOCUMENT,
    Part,
    cases_of,
    differing,
    parts_in,
    parts_of,
    table,
    with_table,
)

ROOT = Path(__file__).parents[3]

JUNIT = """<testsuites><testsuite name="pytest">
<testcase classname="tests.e2e.test_charts" name="test_a" time="90.5"/>
<testcase classname="tests.e2e.test_crd" name="test_b[x]" time="60"/>
<testcase classname="tests.unit.wire.test_client" name="test_c" time="0.25"><failure message="no"/></testcase>
</testsuite></testsuites>"""


def test_the_times_of_a_directory_are_added_up(tmp_path: Path) -> None:
    (tmp_path / "test.xml").write_text(JUNIT)
    parts = parts_of(cases_of(tmp_path.glob("*.xml")))
    assert parts == [
        Part(name="tests/e2e", seconds=150.5),
        Part(name="tests/unit", seconds=0.2),
    ]
    assert table(parts).endswith("| `tests/e2e` | 150 |\n| `tests/unit` | 0 |\n")


def test_the_table_in_contributing_names_every_directory_of_tests() -> None:
    documented = [each.name for each in parts_in(DOCUMENT.read_text())]
    directories = {
        f"tests/{each.relative_to(ROOT / 'tests').parts[0]}"
        for each in (ROOT / "tests").glob("*/**/test_*.py")
    }
    assert len(documented) == len(set(documented))
    # These need programs that `make test` does not build.
    assert {*documented, "tests/backends", "tests/browser"} == directories


def test_recording_replaces_the_table_and_nothing_else() -> None:
    before = table([Part(name="tests/e2e", seconds=9.0)])
    after = [Part(name="tests/e2e", seconds=1_500.0)]
    document = with_table(f"Above.\n\n{before}\nBelow.\n", after)
    assert document == f"Above.\n\n{table(after)}\nBelow.\n"
    assert parts_in(document) == after


def test_parts_that_are_much_slower_new_or_gone_are_named() -> None:
    documented = [Part(name=name, seconds=100.0) for name in ("a", "b", "c")]
    measured = [
        Part(name="a", seconds=199.0),
        Part(name="b", seconds=240.0),
        Part(name="d", seconds=1.0),
    ]
    assert list(differing(measured, documented)) == [
        "b took 240 s; CONTRIBUTING.md says 100: --record",
        "d is not in the table of CONTRIBUTING.md: --record",
        "c, which CONTRIBUTING.md names, did not run",
    ]
