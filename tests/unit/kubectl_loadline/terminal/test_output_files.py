"""Files that a command writes are neither those that it reads, nor those of the user."""

import os
from pathlib import Path

import pytest

from kubectl_loadline.terminal.output_files import OverwrittenFile, keep_files, keep_other_keys

WRITTEN = ("rules.default", "rules.metrics")


def test_an_output_that_is_also_an_input_is_refused(tmp_path):
    file = tmp_path / "in.yaml"
    file.write_text("a: 1\n")
    link = tmp_path / "link.yaml"
    link.symlink_to(file)
    os.link(file, tmp_path / "hard.yaml")
    for output in (file, tmp_path / "." / "in.yaml", link, tmp_path / "hard.yaml"):
        with pytest.raises(OverwrittenFile, match=f"--rules={output} is also an input"):
            keep_files([None, "-", str(file)], {"--values": None, "--rules": output})


def test_another_file_or_a_device_is_not(tmp_path):
    file = tmp_path / "in.yaml"
    file.write_text("a: 1\n")
    keep_files([file, os.devnull], {"--rules": tmp_path / "out.yaml", "--values": Path(os.devnull)})


@pytest.mark.parametrize("exists", [False, True])
def test_two_outputs_in_the_same_file_are_refused(tmp_path, exists):
    file = tmp_path / "out.yaml"
    if exists:
        file.touch()
    (tmp_path / "link.yaml").symlink_to(file)
    for other in (file, tmp_path / ".." / tmp_path.name / "out.yaml", tmp_path / "link.yaml"):
        with pytest.raises(OverwrittenFile, match=f"--rules={file} and --values={other} are the same file: name another"):  # fmt: skip
            keep_files([], {"--rules": file, "--html": None, "--values": other})


def test_two_outputs_may_be_discarded_together():
    keep_files([], {"--rules": Path(os.devnull), "--values": Path(os.devnull)})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("prometheus: {url: a}\nreplicas: 2\nrules: {metrics: []}\n", "has prometheus, replicas,"),
        ("rules: {metrics: [], custom: []}\n", "has rules.custom,"),
        ("rules: [{seriesQuery: up}]\n", "has rules,"),
        ("rules: {metrics: []}\n---\nreplicas: 2\n", "has replicas,"),
        ("- a\n", "is something else than the command writes"),
        ("a: [", "is something else than the command writes"),
        ("\0", "is something else than the command writes"),
        ("1: a\n", "has 1,"),
    ],
)
def test_a_file_with_other_keys_than_the_command_writes_is_kept(tmp_path, content, problem):
    file = tmp_path / "values.yaml"
    file.write_text(content)
    with pytest.raises(OverwrittenFile, match=f"^--values={file} {problem}.*: name a new file$"):
        keep_other_keys("--values", file, WRITTEN)


@pytest.mark.parametrize("content", ["", "# none\n", "rules: {metrics: [{name: a, query: b}]}\n", "rules: {}\n"])  # fmt: skip
def test_a_file_of_an_earlier_run_is_replaced(tmp_path, content):
    file = tmp_path / "values.yaml"
    file.write_text(content)
    keep_other_keys("--values", file, WRITTEN)


def test_a_file_that_is_not_utf_8_is_kept(tmp_path):
    file = tmp_path / "values.yaml"
    file.write_text("replicas: 2\n", "utf-16")
    with pytest.raises(OverwrittenFile, match="is something else than the command writes"):
        keep_other_keys("--values", file, WRITTEN)


def test_a_new_file_or_a_device_has_no_other_keys(tmp_path):
    for file in (None, tmp_path / "new.yaml", Path(os.devnull)):
        keep_other_keys("--values", file, WRITTEN)
