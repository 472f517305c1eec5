"""Files that a command writes are never those that it reads."""

import os
from pathlib import Path

import pytest

from kubectl_loadline.terminal.output_files import OverwrittenInput, keep_inputs


def test_an_output_that_is_also_an_input_is_refused(tmp_path):
    file = tmp_path / "in.yaml"
    file.write_text("a: 1\n")
    link = tmp_path / "link.yaml"
    link.symlink_to(file)
    os.link(file, tmp_path / "hard.yaml")
    for output in (file, tmp_path / "." / "in.yaml", link, tmp_path / "hard.yaml"):
        with pytest.raises(OverwrittenInput, match=f"--rules={output} is also an input"):
            keep_inputs([None, "-", str(file)], {"--values": None, "--rules": output})


def test_another_file_or_a_device_is_not(tmp_path):
    file = tmp_path / "in.yaml"
    file.write_text("a: 1\n")
    keep_inputs(
        [file, os.devnull], {"--rules": tmp_path / "out.yaml", "--values": Path(os.devnull)}
    )
