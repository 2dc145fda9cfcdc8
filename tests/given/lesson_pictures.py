"""The pictures in a notebook's stored outputs, all on one page."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator

from browser_pages import ROOT

KINDS = ("image/svg+xml", "image/png")
NOTEBOOKS = ROOT / "notebooks"


def pictures(name: str) -> Iterator[str]:
    """Return the pictures of a notebook as data URLs, each as Jupyter shows it."""
    book = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    outputs = (output for cell in book["cells"] for output in cell.get("outputs", ()))
    for item in (output.get("data", {}) for output in outputs):
        kind = next((kind for kind in KINDS if kind in item), None)
        if kind is not None:
            given = "".join(item[kind])
            data = given if kind == "image/png" else b64encode(given.encode()).decode()
            yield f"data:{kind};base64,{data}"


def lesson_page(name: str) -> str:
    """Return the page."""
    images = "".join(f'<p><img alt="" src="{one}"></p>' for one in pictures(name))
    style = "body { margin: 0; padding: 8px 16px; } p { margin: 8px 0; } img { display: block; max-width: 100%; }"
    return f"<!DOCTYPE html><html><head><style>{style}</style></head><body>{images}</body></html>"


def keeps_a_picture(text: str) -> bool:
    """Return whether the text of a notebook has an output that is a picture."""
    return any(f'"{kind}": ' in text for kind in KINDS)


LESSONS = [file.stem for file in sorted(NOTEBOOKS.glob("*.ipynb")) if keeps_a_picture(file.read_text(encoding="utf-8"))]
"""The notebooks that keep a picture."""
