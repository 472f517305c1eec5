"""The table of colours of the page and the pictures."""

import pytest

from kubectl_loadline.colours import COLOURS, DARK_BACKGROUND, LIGHT_BACKGROUND

LEAST_CONTRAST = 4.5


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", COLOURS)
def test_a_label_in_the_colour_of_its_curve_can_be_read_light_and_dark(name):
    assert contrast(COLOURS[name].light, LIGHT_BACKGROUND) >= LEAST_CONTRAST
    assert contrast(COLOURS[name].dark, DARK_BACKGROUND) >= LEAST_CONTRAST


def test_no_two_things_have_the_same_colour():
    assert len({each.light for each in COLOURS.values()}) == len(COLOURS)
    assert len({each.dark for each in COLOURS.values()}) == len(COLOURS)
