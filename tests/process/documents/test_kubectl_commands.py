"""kubectl accepts the flags of every kubectl command in the documents. Nothing is run."""

import subprocess

import pytest

from testbed import assets
from tests.command_lines import commands_in
from tests.documented_blocks import blocks_to_run

COMMANDS = [
    pytest.param(words[1:], id=f"{block}: {' '.join(words)}")
    for block in blocks_to_run()
    if block.language in {"sh", "console"}
    for words in commands_in(block)
    if words[0] == "kubectl" and words[1] != "loadline"
]


@pytest.mark.parametrize("arguments", COMMANDS)
def test_kubectl_accepts_the_flags(arguments):
    command = [assets.find("kubectl"), *arguments, "--help"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
