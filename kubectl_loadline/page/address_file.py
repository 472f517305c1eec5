"""A file that leads a browser to the page. Its address has a token, and a command line is seen by every user of the machine."""

import contextlib
import html
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def address_file(address: str) -> Iterator[Path]:
    """An HTML file that only this user can read, until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="loadline-") as folder:
        path = Path(folder) / "open.html"
        path.touch(mode=0o600)
        link = html.escape(address)
        path.write_text(
            f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={link}">'
            f'<title>kubectl loadline ui</title><a href="{link}">Open the page</a>\n'
        )
        yield path
