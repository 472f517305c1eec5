"""Keeps results of pure functions. Users choose how large these and their arguments are, so few of the large ones are kept."""

import functools
from collections.abc import Callable
from typing import Final, TypeVar, TypeVarTuple

SMALL_RESULTS_MAX: Final = 4_096
LARGE_RESULTS_MAX: Final = 256

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


def kept(
    is_large: Callable[[*Arguments], bool],
) -> Callable[[Callable[[*Arguments], Result]], Callable[[*Arguments], Result]]:
    """Decorate a function, to compute a result once for each of the arguments that were used last. `is_large`: of such arguments."""

    def decorate(compute: Callable[[*Arguments], Result]) -> Callable[[*Arguments], Result]:
        small = functools.lru_cache(SMALL_RESULTS_MAX)(compute)
        large = functools.lru_cache(LARGE_RESULTS_MAX)(compute)

        @functools.wraps(compute)
        def found(*arguments: *Arguments) -> Result:
            return (large if is_large(*arguments) else small)(*arguments)

        return found

    return decorate
