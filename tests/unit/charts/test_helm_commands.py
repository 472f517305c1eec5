"""The Helm commands in the documents: the charts accept them, one namespace, and upgrades that take the defaults of the new chart."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.command_lines import commands_in
from tests.documented_blocks import Block, blocks_to_run
from tests.unit.charts.conftest import HELM, ROOT

CHART = re.compile(
    r"(charts/|oci://registry\.example\.com/(?:loadline/)?charts/loadline-)(adapter|scaler)"
)
# What `helm template`, which has no release, does not have.
OF_A_RELEASE = {"--create-namespace", "--install", "--reset-values", "--reset-then-reuse-values"}
# An upgrade keeps the values of the release.
KEPT = ("--set=image.repository=kept", "--set=prometheus.url=http://kept")


def deployments(block: Block) -> Iterator[list[str]]:
    """The arguments of `helm install`, `helm upgrade` and `helm template` in a block."""
    for words in commands_in(block):
        if words[:2] in (["helm", "install"], ["helm", "upgrade"], ["helm", "template"]):
            yield words[1:]


def of_releases() -> list[str]:
    blocks = [block for block in blocks_to_run() if block.language == "sh"]
    found = [arguments for block in blocks for arguments in deployments(block)]
    return [" ".join(arguments) for arguments in found if arguments[0] != "template"]


def test_helm_renders_the_charts_with_the_flags(documented_block: Block, tmp_path: Path):
    found = list(deployments(documented_block))
    assert found
    for verb, *arguments in found:
        for file in re.findall(r"-f (\S+)", " ".join(arguments)):
            (tmp_path / file).touch()
        local = [CHART.sub(rf"{ROOT}/charts/\2", each) for each in arguments]
        flags = [each for each in local if each not in OF_A_RELEASE]
        kept = KEPT if verb == "upgrade" and "--install" not in arguments else ()
        done = subprocess.run(
            [HELM, "template", *kept, *flags], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "kind: Deployment" in done.stdout


def test_every_command_names_the_same_namespace():
    assert of_releases()
    for command in of_releases():
        assert re.search(r" (-n|--namespace) monitoring( |$)", command), command


def test_an_upgrade_keeps_the_values_of_the_user_and_no_default_of_the_previous_chart():
    """`--reuse-values` would render templates of a new chart without its new values."""
    upgrades = [each for each in of_releases() if each.startswith("upgrade ")]
    assert upgrades
    for command in upgrades:
        kept = ("--reset-then-reuse-values", "--reset-values -f ", "upgrade --install ")
        assert any(flag in command for flag in kept), command
