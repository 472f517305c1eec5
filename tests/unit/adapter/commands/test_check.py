"""`check` tells every fault of a file at once, and CI by its exit code."""

import pytest

from adapter.commands.check import check

GOOD = """
rules:
- seriesQuery: 'http_requests_total{namespace!="",pod!=""}'
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[1m])) by (<<.GroupBy>>)'
"""
BAD = """
rules:
- seriesQuery: up
  name: {matches: '('}
  resources: {template: '<<.Resource'}
  metricsQuery: up
  typo: 1
"""


def test_a_good_file_ends_with_0(tmp_path, capsys):
    (tmp_path / "c.yaml").write_text(GOOD)
    assert check([str(tmp_path / "c.yaml")]) == 0
    assert "can be used: 1 rule" in capsys.readouterr().out


def test_every_fault_is_told_with_its_place_and_the_exit_code_is_2(tmp_path, capsys):
    (tmp_path / "c.yaml").write_text(BAD)
    assert check([str(tmp_path / "c.yaml")]) == 2
    told = capsys.readouterr().err
    for place in ("rules[0].name.matches", "rules[0].resources.template", "typo"):
        assert place in told


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["absent", "no text"])
def test_a_file_that_cannot_be_read_is_a_fault(tmp_path, capsys, content):
    if content is not None:
        (tmp_path / "c.yaml").write_bytes(content)
    assert check([str(tmp_path / "c.yaml")]) == 2
    assert "cannot be read" in capsys.readouterr().err
