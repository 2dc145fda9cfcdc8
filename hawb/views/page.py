"""A web page with everything in it: nothing of it is fetched from anywhere or run, so that it can be mailed, kept and
opened without a network. The page forbids itself scripts and any address.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from hawb.views import style
from hawb.views.formatting import html

# The cells' own style keeps them in one line; on a page lists of long node names have to give way.
STYLE = f"""
body {{ font: 14px/1.45 {style.FONT}; max-width: 1000px; margin: 24px auto; padding: 0 16px; }}
figure {{ margin: 8px 0; overflow-x: auto; }}
ol {{ padding-left: 0; list-style: none; }}
li {{ display: grid; grid-template-columns: 6em 1fr; margin: 2px 0; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12px; margin: 2px 0; }}
table {{ margin: 8px 0; }}
td {{ white-space: normal !important; }}
footer {{ border-top: 1px solid; margin-top: 24px; padding-top: 8px; font-size: 12px; }}
@media print {{ body {{ margin: 0; max-width: none; }} figure, table {{ break-inside: avoid; }} }}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
LIMITS = (
    "This was simulated. Times are a model's (links, disks and synchronisation at the rates of the scenario), and what"
    " hawb has no rules for it has left out."
)


def document(title: str, parts: Iterable[str]) -> str:
    """A whole page with these parts, all of it HTML, the title too; it fetches and runs nothing."""
    forbids = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    head = f'<meta charset="utf-8">{forbids}<title>{title}</title><style>{STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def figure(svg: str, queue: str | None = None) -> str:
    """A picture in its place, and which queue it is about."""
    about = "" if queue is None else f"<figcaption>Who was what for {html(queue)}</figcaption>"
    return f"<figure>{about}{svg}</figure>"


def pre(text: str) -> str:
    """Text as it is."""
    return f"<pre>{escape(text)}</pre>"


def notes_html(notes: Iterable[str]) -> str:
    """Notes on what a cluster's files do not tell, as a section; nothing where they tell all."""
    return section("What the files do not tell", *(f"<p>{html(note)}</p>" for note in notes))


def section(title: str, *parts: str) -> str:
    """A heading and what is below it; nothing without parts."""
    return f"<section><h2>{title}</h2>{''.join(parts)}</section>" if parts else ""
