"""Pure: the result of a backtest as one page, which needs no other file and no network."""

from base64 import b64encode
from collections.abc import Mapping
from html import escape

from kubectl_loadline.backtest.report import Report
from kubectl_loadline.backtest.text import LEGEND, text_of

_CAPTIONS = {
    "load": "The load, and what a forecast expected at most.",
    "replicas": "Replicas: demanded by the load, recorded, and set by each policy.",
    "frontier": "Replica-hours and time short, with other targets: closer to the lower left corner is better.",
}
_STYLE = (
    "body{font:15px system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#111;background:#fff}"
    "pre{overflow-x:auto;background:#f5f5f5;padding:1rem}img{max-width:100%}figure{margin:1.5rem 0}"
    "p.warning{border-left:4px solid #b00020;padding-left:.8rem}"
)


def page(report: Report, pictures: Mapping[str, bytes]) -> str:
    """HTML with everything inside."""
    title = escape(f"Backtest of {report.autoscaler}")
    warnings = "".join(
        f'<p class="warning">{escape(each[:1].upper() + each[1:])}.</p>' for each in report.warnings
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head>'
        f"<body><h1>{title}</h1>{warnings}<pre>{escape(text_of(report).replace(LEGEND, ''))}</pre><p>{escape(LEGEND)}</p>"
        f"{''.join(_figure(name, png) for name, png in pictures.items())}</body></html>\n"
    )


def _figure(name: str, png: bytes) -> str:
    caption = escape(_CAPTIONS[name])
    source = f"data:image/png;base64,{b64encode(png).decode()}"
    return (
        f'<figure><img src="{source}" alt="{caption}"><figcaption>{caption}</figcaption></figure>'
    )
