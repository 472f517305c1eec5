"""Vectors are stored compressed, and recording them again shows what changed."""

from pathlib import Path

from testbed.vectors import compress, lines, main


def test_what_is_compressed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "names.jsonl"
    path.write_bytes(b'{"a":1}\n{"a":2}\n')
    assert main([str(tmp_path)]) == 0
    assert lines(path) == [b'{"a":1}', b'{"a":2}']
    assert [each.name for each in tmp_path.iterdir()] == ["names.jsonl.xz"]


def test_recording_again_counts_the_lines_that_differ(tmp_path: Path) -> None:
    path = tmp_path / "names.jsonl"
    path.write_bytes(b"1\n2\n2\n")
    compress(path)
    path.write_bytes(b"2\n3\n4\n")
    assert compress(path) == "names.jsonl: 3 lines, 2 added, 2 removed"
