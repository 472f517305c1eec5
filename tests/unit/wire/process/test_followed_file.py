"""The newest readable content of a file that something else replaces."""

import os
import shutil

import pytest

from wire.process.followed_file import FollowedFile, generations


def test_new_content_is_read_and_counted(tmp_path):
    path = tmp_path / "token"
    path.write_text("a")
    file = FollowedFile(path)
    assert (file.generation, file.read(), file.generation) == (0, b"a", 1)
    path.write_text("bb")
    assert (file.read(), file.generation) == (b"bb", 2)
    assert (file.read(), file.generation) == (b"bb", 2)


def test_the_swap_of_a_mounted_secret_is_noticed(tmp_path):
    for name in ("v1", "v2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(name)
    current, path = tmp_path / "..data", tmp_path / "token"
    current.symlink_to("v1")
    path.symlink_to("..data/token")
    file = FollowedFile(path)
    assert file.read() == b"v1"
    (tmp_path / "next").symlink_to("v2")
    (tmp_path / "next").replace(current)
    assert file.read() == b"v2"


def test_a_copy_that_keeps_time_and_size_is_noticed(tmp_path):
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_text("aa")
    file = FollowedFile(path)
    file.read()
    other.write_text("bb")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    with path.open("wb") as opened:
        opened.write(other.read_bytes())
    shutil.copystat(other, path)
    assert file.read() == b"bb"


def test_the_same_content_written_again_is_not_a_change(tmp_path):
    path = tmp_path / "a"
    path.write_text("a")
    file = FollowedFile(path)
    file.read()
    path.unlink()
    path.write_text("a")
    assert (file.read(), file.generation) == (b"a", 1)


def test_a_file_that_vanished_keeps_its_last_content_and_says_why(tmp_path):
    path = tmp_path / "a"
    path.write_text("a")
    file = FollowedFile(path)
    file.read()
    path.unlink()
    assert file.read() == b"a"
    assert "No such file" in file.problem
    path.write_text("b")
    assert (file.read(), file.problem) == (b"b", None)


def test_a_file_that_was_never_there_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        FollowedFile(tmp_path / "a").read()


def test_the_generations_of_several_files_change_with_any_of_them(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_text("x")
    files = [FollowedFile(path) for path in paths]
    before = generations(*files, None)
    assert generations(*files, None) == before
    paths[1].write_text("yy")
    assert generations(*files, None) != before
