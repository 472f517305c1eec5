"""The YAML examples of the README."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]


def documents() -> list[dict[str, Any]]:
    """Every YAML block of the README, in order."""
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return [yaml.safe_load(block) for block in blocks]
