"""Generated configurations are valid for Loadline and reproducible by seed."""

import msgspec
import pytest

from adapter import config
from testbed.differential.adapter.generated_configuration import (
    EXTERNAL_RULES,
    RULES,
    configuration,
)


def test_the_same_seed_makes_the_same_configuration():
    assert configuration("7") == configuration("7") != configuration("8")


@pytest.mark.parametrize("seed", [str(number) for number in range(20)])
def test_every_configuration_is_valid(tmp_path, seed):
    path = tmp_path / "configuration.yaml"
    path.write_bytes(msgspec.yaml.encode(configuration(seed)))
    assert len(config.load(path).rules) == RULES + EXTERNAL_RULES + 2
