"""Recorded series in files: which files are refused, and what is said about them."""

import json

import pytest

from kubectl_loadline.cluster.manifests import UnusableManifest, read_manifest
from kubectl_loadline.commands.backtest.command import parser
from kubectl_loadline.recorded_series.files import UnusableSeries, read_csv, read_range
from kubectl_loadline.recorded_series.of_metrics import prometheus_server, read_explanations

ROWS = "time,requests\n1700000000,1\n1700000060,2\n"
RANGE = json.dumps({"data": {"result": [{"values": [[1, "2"]]}]}})


@pytest.mark.parametrize("read", [read_csv, read_range, read_explanations, read_manifest])
def test_a_file_that_is_not_utf_8_must_be_saved_as_such(tmp_path, read):
    """PowerShell writes UTF-16 with `>`."""
    file = tmp_path / "file"
    file.write_text(ROWS, "utf-16")
    with pytest.raises((UnusableSeries, UnusableManifest)) as refused:
        read(file)
    assert str(refused.value) == f"{file}: it is not UTF-8; save it as UTF-8"


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "a.csv").write_text(ROWS, "utf-8-sig")
    assert read_csv(tmp_path / "a.csv") == {"requests": [(1700000000, 1), (1700000060, 2)]}
    (tmp_path / "a.json").write_text(RANGE, "utf-8-sig")
    assert read_range(tmp_path / "a.json") == [(1, 2)]


def test_a_token_that_cannot_be_read_is_a_wrong_file(tmp_path):
    given = parser().parse_args(["web", f"--prometheus-token-file={tmp_path / 'token'}"])
    with pytest.raises(UnusableSeries, match=f"{tmp_path / 'token'}: no such file"):
        prometheus_server(given, "http://p")
