"""PNG beside each SVG that a notebook stores: JupyterLab shows no SVG of a notebook that is not trusted.

Each PNG says of which SVG it was made, so that a test needs no browser to see which ones are to be made anew. nbval
compares no PNG. `python tests/given/notebook_pictures.py NOTEBOOK…` brings notebooks up to date; `make pictures` does
so for all.
"""

from __future__ import annotations

import json
import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from PIL import Image, PngImagePlugin

SVG, PNG, MADE_OF = "image/svg+xml", "image/png", "made of"
SHARP, COLOURS = 2, 64
"""Pixels of a PNG to one of its SVG, and its colours."""

SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"')


def drawn_outputs(book: dict) -> Iterator[dict]:
    """Yield the outputs of a notebook that have an SVG."""
    outputs = (output for cell in book["cells"] for output in cell.get("outputs", ()))
    yield from (output for output in outputs if SVG in output.get("data", {}))


def digest(svg: str) -> str:
    """Return what a PNG says of the SVG that it was made of."""
    return sha256(svg.encode()).hexdigest()


def made_of(output: dict) -> str | None:
    """Return the digest of the SVG that the PNG of an output was made of; None without a PNG."""
    given = output["data"].get(PNG)
    return None if given is None else Image.open(BytesIO(b64decode("".join(given)))).info.get(MADE_OF)


def stale(book: dict) -> list[dict]:
    """Return the outputs of a notebook whose PNG was not made of their SVG."""
    return [output for output in drawn_outputs(book) if made_of(output) != digest("".join(output["data"][SVG]))]


def as_png(page, svg: str) -> bytes:
    """Return a picture as PNG, drawn by a browser's page that has SHARP pixels to one."""
    page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block }}</style>{svg}")
    shot = Image.open(BytesIO(page.locator("svg").first.screenshot())).convert("RGB")
    info, written = PngImagePlugin.PngInfo(), BytesIO()
    info.add_text(MADE_OF, digest(svg))
    small = shot.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(written, format="PNG", optimize=True, pnginfo=info)
    return written.getvalue()


def renew(page, output: dict) -> None:
    """Give an output the PNG of its SVG, and the size at which it is shown."""
    svg = "".join(output["data"][SVG])
    output["data"][PNG] = b64encode(as_png(page, svg)).decode()
    output["data"] = dict(sorted(output["data"].items()))
    width, height = SIZE.search(svg).groups()
    output.setdefault("metadata", {})[PNG] = {"height": round(float(height)), "width": round(float(width))}


def main(files: list[str]) -> None:
    """Bring the PNGs of notebooks up to date."""
    from browser_pages import chromium, close_chromium

    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 800}, device_scale_factor=SHARP)
        for file in map(Path, files):
            book = json.loads(file.read_text(encoding="utf-8"))
            old = stale(book)
            for output in old:
                renew(page, output)
            if old:
                file.write_text(json.dumps(book, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
                sys.stdout.write(f"{file}: {len(old)} renewed\n")
    close_chromium()


if __name__ == "__main__":
    main(sys.argv[1:])
