"""Which tests belong to a behavior."""

from functools import cache

import pytest

from testbed.tested_behavior import Behavior, Index, behaviors, deviations, main, sources_of

MODULE = """
import pytest

TABLE = ["--sync-period=1s"]


@pytest.mark.deviation("own-version", "no-protobuf")
@pytest.mark.parametrize("flag", ["--tolerance=0.2"])
def test_a_flag_is_read(flag):
    assert leadSeconds(flag).forecast


class Tests:
    def test_a_gauge_is_exported(self):
        leading = "loadline_scaler_leading"
        assert self._telemetry.crashes_total.value(leading)
"""
FIRST = "tests/test_module.py::test_a_flag_is_read"
SECOND = "tests/test_module.py::test_a_gauge_is_exported"
REST = "tests/test_module.py"


def test_the_markers_of_a_test_are_those_of_its_deviations():
    found = {each.name: set(each.deviations) for each in sources_of(MODULE, "tests/test_module.py")}
    assert found == {FIRST: {"own-version", "no-protobuf"}, SECOND: set(), REST: set()}


@cache
def known() -> dict[tuple[str, str], Behavior]:
    """All behaviors by kind and name."""
    return {(each.kind, each.name): each for each in behaviors()}


@pytest.mark.parametrize(
    ("kind", "name", "tests"),
    [
        pytest.param("deviation", "own-version", [FIRST], id="a marker"),
        pytest.param("flag", "loadline-scaler --tolerance", [FIRST], id="a flag in a decorator"),
        pytest.param("flag", "loadline-scaler --sync-period", [REST], id="a flag in a table"),
        pytest.param("flag", "loadline-scaler --kubeconfig", [], id="a flag that no test has"),
        pytest.param(
            "field of LoadAutoscaler", "spec.forecast.leadSeconds", [FIRST], id="a field and its parent"
        ),
        pytest.param("metric", "loadline_scaler_leading", [SECOND], id="a metric in a text"),
        pytest.param("metric", "loadline_scaler_crashes_total", [SECOND], id="a metric in the code"),
    ],
)  # fmt: skip
def test_a_test_belongs_to_what_it_names(kind, name, tests):
    index = Index(sources_of(MODULE, "tests/test_module.py"))
    assert index.tests_of(known()[kind, name]) == tests


def test_the_rows_on_clocks_that_differ_do_not_count_as_deviations():
    names = deviations()
    assert {"large-results", "clock-steps", "zero-disables"} <= set(names)
    assert "forecast" not in names
    assert len(names) == len(set(names))


def test_flags_that_are_ignored_are_one_behavior_of_a_program():
    names = [name for kind, name in known() if kind == "flag"]
    assert "loadline-adapter flags that are accepted and ignored" in names
    assert not {"loadline-adapter --vmodule", "loadline-adapter --client-qps"} & set(names)
    assert "loadline-scaler --feature-gates" in names, "the scaler has a use for it"


def test_the_documented_commands_print_the_tests_of_a_behavior(documented_blocks, capsys):
    """Those of all of them at once: each reads all tests."""
    words = [
        word
        for line in "\n".join(documented_blocks).splitlines()
        for word in line.partition("#")[0].partition("testbed.tested_behavior")[2].split()
    ]
    assert main([*words, "own-version"]) == 0
    printed = capsys.readouterr().out.splitlines()
    for word in words:
        assert [line for line in printed if word in line and not line.startswith(" ")], word
    test = "tests/unit/wire/serving/test_server.py::test_the_version_is_that_of_the_program"
    assert f"  {test}" in printed[printed.index("deviation own-version") :]


def test_a_word_that_no_behavior_has_is_an_error(capsys):
    assert main(["no-such-behavior"]) == 1
    assert "no-such-behavior" in capsys.readouterr().err
