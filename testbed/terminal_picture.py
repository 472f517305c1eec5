"""A picture of a command and its output, for the documentation: text in, SVG out, without fonts of other servers.

loadline-scaler why demo/worker | python -m testbed.terminal_picture 'loadline-scaler why demo/worker' > docs/pictures/why.svg
"""

import sys
from textwrap import wrap
from xml.sax.saxutils import escape

COLUMNS = 104
CHARACTER_WIDTH, LINE_HEIGHT, MARGIN = 8.43, 19, 18


def terminal_picture(command: str, output: str) -> str:
    """The SVG; long lines are wrapped and indented."""
    lines = [f"$ {command}"]
    for line in output.rstrip().splitlines():
        lines += wrap(line, COLUMNS, subsequent_indent="    ") or [""]
    width, height = COLUMNS * CHARACTER_WIDTH + 2 * MARGIN, len(lines) * LINE_HEIGHT + 2 * MARGIN
    texts = "\n".join(
        f'  <text x="{MARGIN}" y="{MARGIN + LINE_HEIGHT * (number + 0.75):g}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3" xml:space="preserve">
  <rect width="{width:g}" height="{height:g}" rx="8" fill="#161b22"/>
{texts}
</svg>
"""


if __name__ == "__main__":
    sys.stdout.write(terminal_picture(sys.argv[1], sys.stdin.read()))
