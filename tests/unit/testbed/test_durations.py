"""The durations of the tests, from JUnit files."""

from pathlib import Path

from testbed.durations import Part, cases_of, parts_of, table

JUNIT = """<testsuites><testsuite name="pytest">
<testcase classname="tests.e2e.test_charts" name="test_a" time="90.5"/>
<testcase classname="tests.e2e.test_crd" name="test_b[x]" time="60"/>
<testcase classname="tests.unit.wire.test_client" name="test_c" time="0.25"><failure message="no"/></testcase>
</testsuite></testsuites>"""


def test_the_times_of_a_directory_are_added_up(tmp_path: Path) -> None:
    (tmp_path / "test.xml").write_text(JUNIT)
    parts = parts_of(cases_of(tmp_path.glob("*.xml")))
    assert parts == [
        Part(name="tests/e2e", tests=2, seconds=150.5),
        Part(name="tests/unit", tests=1, seconds=0.2),
    ]
    assert "| `tests/e2e` | 2 | 3 min |\n| `tests/unit` | 1 | 0 s |" in table(parts)
