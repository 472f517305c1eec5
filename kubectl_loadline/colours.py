"""The colours of the page and of all pictures: the same thing has the same colour everywhere.

Each has a contrast of at least 4.5 to 1 to the background, light and dark, because labels beside curves are written in it
(WCAG 2.2 AA).
"""

from collections.abc import Mapping
from typing import Final

import msgspec


class Colour(msgspec.Struct, frozen=True):
    """On a light and on a dark background."""

    light: str
    dark: str


LIGHT_BACKGROUND: Final = "#ffffff"
DARK_BACKGROUND: Final = "#14181b"
LOAD: Final = Colour("#1f5fa8", "#7db4f5")
"""The value of a metric."""
DEMAND: Final = Colour("#50667d", "#a3b8cf")
"""The replicas that the load needs: what the metrics propose, or the least that keep a target."""
CURRENT: Final = Colour("#00635a", "#5ad1c2")
"""The replicas that there are, or are ready."""
DESIRED: Final = Colour("#b3400a", "#ffa46b")
"""The replicas that a decision wants."""
LIMITS: Final = Colour("#5f666d", "#98a2ab")
"""Minimum and maximum."""
FORECAST: Final = Colour("#7b35ad", "#d0a3f7")
"""What a forecast expects, adds, or leads to."""
PROBLEM: Final = Colour("#a3121a", "#ff9a9f")
"""Too few replicas, failures, and the time in which something is suspended."""

COLOURS: Final[Mapping[str, Colour]] = {
    "load": LOAD,
    "demand": DEMAND,
    "current": CURRENT,
    "desired": DESIRED,
    "limits": LIMITS,
    "forecast": FORECAST,
    "problem": PROBLEM,
}


def stylesheet() -> str:
    """The same as CSS variables: `--load`, `--demand` and so on."""
    light, dark = (
        " ".join(f"--{name}: {getattr(each, scheme)};" for name, each in COLOURS.items())
        for scheme in ("light", "dark")
    )
    return (
        f":root {{ --back: {LIGHT_BACKGROUND}; {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ --back: {DARK_BACKGROUND}; {dark} }} }}\n"
    )
