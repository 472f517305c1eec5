"""Code samples of the documents: they parse."""

import subprocess

import pytest
import yaml

from tests.documented_blocks import Block, all_blocks


def of(language: str) -> list[Block]:
    return [block for block in all_blocks() if block.language == language]


@pytest.mark.parametrize("block", of("yaml"), ids=str)
def test_a_document_parses(block):
    assert [each for each in yaml.safe_load_all(block.text) if each] or block.text.startswith("#")


@pytest.mark.parametrize("block", of("sh"), ids=str)
def test_a_script_parses(block):
    done = subprocess.run(
        ["bash", "-n"], input=block.text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", of("python"), ids=str)
def test_a_module_parses(block):
    compile(block.text, str(block), "exec")
