"""How a program runs its event loop."""

import gc
import sys
from collections.abc import Iterator

import pytest

from wire.process import event_loop

PYTHONS_DEFAULT_SECONDS = 0.005


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(PYTHONS_DEFAULT_SECONDS)
    yield
    sys.setswitchinterval(before)
    gc.unfreeze()


async def switch_seconds() -> float:
    return sys.getswitchinterval()


def test_a_thread_that_computes_holds_up_a_step_for_less_than_by_default():
    assert event_loop.run(switch_seconds()) == pytest.approx(0.001)
