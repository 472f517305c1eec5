"""The development environment is made from the Python that runs the tests in the least time."""

import os
import sys

import pytest

from testbed.fastest_python import Interpreter, fastest, on_path


@pytest.mark.parametrize(
    ("interpreters", "chosen"),
    [
        pytest.param([("a", 11, 1.0)], "a", id="the only one"),
        pytest.param([("a", 11, 1.0), ("b", 11, 0.75)], "b", id="one that is clearly faster"),
        pytest.param([("a", 11, 1.0), ("b", 11, 0.95)], "a", id="not for a small difference"),
        pytest.param([("a", 11, 0.75), ("b", 11, 1.0)], "a", id="the first one is the fastest"),
        pytest.param([("a", 11, 1.0), ("b", 13, 0.5)], "a", id="not one of another version"),
        pytest.param(
            [("a", 11, 1.0), ("b", 11, 0.8), ("c", 11, 0.7)], "c", id="the fastest of several"
        ),
    ],
)
def test_another_python_is_chosen_only_if_it_is_clearly_faster(interpreters, chosen):
    assert fastest([Interpreter(*each) for each in interpreters]).path == chosen


def python_in(directory, *lines, status=0):
    """A `python3` that prints these lines."""
    directory.mkdir()
    script = directory / "python3"
    script.write_text(
        "#!/bin/sh\n" + "".join(f"echo {each}\n" for each in lines) + f"exit {status}\n"
    )
    script.chmod(0o755)
    return str(directory)


def test_the_pythons_on_the_path_are_found_once_each_in_order_with_their_best_time(tmp_path):
    directories = [
        python_in(tmp_path / "too_old", status=1),
        python_in(tmp_path / "slow", "/opt/slow/python3", 11, 0.02),
        str(tmp_path / "missing"),
        python_in(tmp_path / "fast", "/opt/fast/python3", 11, 0.01),
        python_in(tmp_path / "again", "/opt/slow/python3", 11, 0.015),
    ]
    assert on_path(os.pathsep.join(directories)) == [
        Interpreter("/opt/slow/python3", 11, 0.015),
        Interpreter("/opt/fast/python3", 11, 0.01),
    ]


def test_a_real_python_is_probed(tmp_path):
    (tmp_path / "python3").symlink_to(sys.executable)
    (found,) = on_path(str(tmp_path))
    assert found.minor == sys.version_info.minor
    assert 0 < found.seconds < 60
