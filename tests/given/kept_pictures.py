"""Pictures of pages, compared with those that are kept in `tests/pictures`.

A picture is made 640 pixels wide and few-coloured, so that all that are kept together are small. Two pictures are as
different as the tile of 8 by 8 of these pixels is whose mean colour differs most (0 to 255, of one channel). A stack
that is missing, a band that is gone, another colour or a text that is cut off changes the mean of its tile a lot; how
a letter's edge was rasterised changes it little, however often there are letters. `matplotlib.testing.compare` has one
root mean square for a whole picture instead, to which the edges of all letters add up, and in which a small thing that
is missing counts for nothing: so it is Pillow that compares, by `reduce` and `difference`.

With HAWB_PICTURES=renew what is taken is kept: `make pictures`.
"""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path

from browser_pages import ROOT
from PIL import Image, ImageChops, ImageDraw

KEPT, TAKEN = ROOT / "tests" / "pictures", ROOT / "build" / "pictures"
WIDTH, TILE, COLOURS = 640, 8, 256

MOST = 20
"""How different a picture may be. Text that is rasterised in another way comes to about a third of that, the least of
what `tests/house/test_looks.py` mutates to more than twice as much."""

LITTLE = 10
"""What differs by no more is not kept anew: having few colours comes to that."""

RENEWS = os.environ.get("HAWB_PICTURES") == "renew"
EVERYTHING = 255
Size = tuple[int, int]


def small(shot: bytes) -> Image.Image:
    """Return a screenshot in the size in which it is compared."""
    picture = Image.open(BytesIO(shot)).convert("RGB")
    return picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.BOX)


def tiles(one: Image.Image, other: Image.Image) -> Image.Image:
    """Return the differences of the tiles' mean colours, a pixel for each tile."""
    return ImageChops.difference(one.reduce(TILE), other.reduce(TILE))


def difference(one: Image.Image, other: Image.Image) -> int:
    """Return the largest difference of any tile of two pictures, or EVERYTHING if their sizes differ."""
    return max(high for _, high in tiles(one, other).getextrema()) if one.size == other.size else EVERYTHING


def compare(name: str, shot: bytes) -> str:
    """What is wrong with a screenshot: nothing where it looks like the kept picture of that name. Else the kept one,
    the one taken and what differs stand in build/pictures. Where pictures are renewed, it is kept."""
    taken, file = small(shot), KEPT / f"{name}.png"
    kept = Image.open(file).convert("RGB") if file.exists() else None
    found = EVERYTHING if kept is None else difference(kept, taken)
    if RENEWS:
        if found > LITTLE:
            keep(file, taken)
        return ""
    if found <= MOST:
        return ""
    write(name, kept, taken)
    was = "there is none kept" if kept is None else f"kept {kept.size}, taken {taken.size}, they differ by {found}"
    return f"{name}: {was} (at most {MOST}); look into {TAKEN}, and if it is to look so: make pictures"


def keep(file: Path, taken: Image.Image) -> None:
    """Store a picture as small as possible."""
    file.parent.mkdir(parents=True, exist_ok=True)
    taken.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, optimize=True)


def write(name: str, kept: Image.Image | None, taken: Image.Image) -> None:
    """Write NAME-kept.png, NAME-taken.png and NAME-difference.png for a person to look at."""
    TAKEN.mkdir(parents=True, exist_ok=True)
    taken.save(TAKEN / f"{name}-taken.png")
    if kept is not None:
        kept.save(TAKEN / f"{name}-kept.png")
        marked(kept, taken).save(TAKEN / f"{name}-difference.png")


def marked(kept: Image.Image, taken: Image.Image) -> Image.Image:
    """Return the new picture, pale, with a frame around each tile that differs too much."""
    size = (WIDTH, max(kept.height, taken.height))
    was, now = (on_ground(one, size) for one in (kept, taken))
    shown = Image.blend(now, Image.new("RGB", size, "white"), 0.6)
    drawn, found = ImageDraw.Draw(shown), tiles(was, now)
    for y in range(found.height):
        for x in range(found.width):
            if max(found.getpixel((x, y))) > MOST:
                drawn.rectangle((x * TILE, y * TILE, (x + 1) * TILE, (y + 1) * TILE), outline="red")
    return shown


def on_ground(one: Image.Image, size: Size) -> Image.Image:
    """Return a picture on a background that may be higher."""
    whole = Image.new("RGB", size, "grey")
    whole.paste(one)
    return whole
