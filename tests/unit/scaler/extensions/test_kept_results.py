"""How many results are kept."""

import pytest

from scaler.extensions.kept_results import LARGE_RESULTS_MAX, SMALL_RESULTS_MAX, kept


@pytest.mark.parametrize(
    ("length", "most"), [(10, SMALL_RESULTS_MAX), (11, LARGE_RESULTS_MAX)], ids=["small", "large"]
)
def test_of_large_arguments_fewer_results_are_kept(length, most):
    computed = []

    @kept(lambda text: len(text) > 10)
    def identity(text: str) -> str:
        computed.append(text)
        return text

    texts = [f"{number:0>{length}}" for number in range(most)]
    for each in (*texts, *texts):
        assert identity(each) == each
    assert computed == texts
    identity("x" * length)
    identity(texts[0])
    assert len(computed) == most + 2


def test_an_exception_is_raised_each_time():
    @kept(lambda _: False)
    def inverse(number: int) -> float:
        return 1 / number

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            inverse(0)
