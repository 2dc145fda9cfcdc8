"""Style: all figures take colours, shapes and fonts from `hawb.views.style`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from cycler import cycler
from made_up_rates import known_spans
from matplotlib.artist import Artist
from matplotlib.cm import ScalarMappable
from matplotlib.collections import Collection
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from msgspec.structs import replace
from samples import sample

import hawb.views
from hawb.conformance.wide_campaigns import Pair
from hawb.exports.queue_rows import QueueFacts
from hawb.incident.rates import rates
from hawb.planning.inventory import Inventory, Queue
from hawb.planning.upgrade import Stage
from hawb.rules.profiles import PROFILES
from hawb.study.intervals import Share
from hawb.study.replicas import Down, Played, what_if
from hawb.study.throughput import cluster, one_queue
from hawb.views import style
from hawb.views.broker.agreement import heat_map
from hawb.views.incident.rates_page import rates_figure
from hawb.views.planning.upgrade_figure import upgrade_figure
from hawb.views.rules.features import matrix
from hawb.views.study.estimate_figures import differences_figure, estimates_figure
from hawb.views.study.estimates import LOSS, LOST
from hawb.views.study.replica_page import replica_figure
from hawb.views.study.sync_duration import duration_figure
from hawb.views.study.throughput_figures import throughput_figure

HAWB = Path(hawb.views.__file__).parents[1]
COLOURS = {look.colour for look in style.LOOKS.values()}
ALLOWED = {
    *(colour.lower() for colour in COLOURS),
    *(colour.lower() for colour in (style.PAPER, style.PRINTED, style.PRINTED_FAINT, style.LINE, style.GRID)),
}
ANOTHER_TASTE = {
    "font.family": "serif",
    "font.size": 20,
    "text.color": "red",
    "axes.facecolor": "pink",
    "axes.prop_cycle": cycler(color=["red", "lime"]),
    "axes.labelcolor": "red",
    "figure.facecolor": "black",
    "lines.linewidth": 9,
    "legend.facecolor": "lime",
    "xtick.labelsize": 20,
    "ytick.color": "red",
}
TYPES = ("classic", "quorum")


def predicted() -> Figure:
    """Return the figure of the throughput of queues and clusters."""
    return throughput_figure({name: one_queue(name) for name in TYPES}, {name: cluster(name) for name in TYPES})


def upgraded() -> Figure:
    """Return the figure of a rolling upgrade of two nodes, of which the second does not restart."""
    stages = [
        Stage("rabbit@a", "ready", (), 0.0, 0.0, 1.0, 31.0, 36.0),
        Stage("$b$", "synced", ("q",), 31.0, 40.0, 41.0, 71.0, None),
    ]
    return upgrade_figure(stages)


def estimated() -> Figure:
    """Return the figure of a study's estimates for both types, with an empty cell."""
    ends = [("classic", 3.0, 1.0, 400.0), ("quorum", 0.0, 0.0, 0.1)]
    rows = [
        {"environment": "r", "design": name, "measure": "lost_confirmed", "trials": 9, "share": value, "share_low": low,
         "share_high": high, "mean": value, "mean_low": low, "mean_high": high}
        for name, value, low, high in ends
    ]  # fmt: skip
    return estimates_figure(rows, [LOSS, LOST], {name: name for name in TYPES})


def beside() -> Figure:
    """Return the figure of differences between designs: less, more, and a thousand times more."""
    ends = [("base", 0.0, 0.0, 0.0), ("less", -3.0, -5.0, -1.0), ("more", 2.0, 1.0, 3.0), ("most", 9e3, 8e3, 1e4)]
    rows = [
        {"environment": "r", "design": name, "measure": "lost_confirmed", "difference": value, "difference_low": low,
         "difference_high": high}
        for name, value, low, high in ends
    ]  # fmt: skip
    return differences_figure(rows, [LOST], "base")


def counted() -> Figure:
    """Return the figure of one to seven replicas, each with a loss in one trial and downtime in both."""
    one = Inventory(profile=PROFILES["3.10"], queues=[Queue("/", "q", QueueFacts(messages=9))])
    made = what_if(one, matrix(), trials=0)
    downs = [Down(cell.replicas / 2, None, None, cell.replicas) for cell in made.cells[1:]]
    found = [Played(Share(1, 2), down) for down in (Down(9.0, -1.0, 19.0, 90.0), *downs)]
    cells = [replace(cell, played=played) for cell, played in zip(made.cells, found, strict=True)]
    return replica_figure(replace(made, cells=cells))


def agreed() -> Figure:
    """Return the figure of agreement for two settings."""
    pairs = [("consumer", "one", "queue", "durable", 50, 45), ("consumer", "none", "queue", "durable", 4, 4)]
    return heat_map([Pair(*pair) for pair in pairs])


FIGURES: dict[str, Callable[[], Figure]] = {
    "differences_figure": beside,
    "rates_figure": lambda: rates_figure(rates(known_spans())),
    "duration_figure": lambda: duration_figure([1000, 1_000_000], [1, 4096]), "estimates_figure": estimated,
    "heat_map": agreed, "replica_figure": counted, "throughput_figure": predicted, "upgrade_figure": upgraded,
}  # fmt: skip
each = pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)


def test_every_matplotlib_figure_is_tested_here() -> None:
    names = [module.name for module in pkgutil.walk_packages(hawb.views.__path__, "hawb.views.")]
    modules = [importlib.import_module(name) for name in names]
    found = {
        name
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__annotations__.get("return") == "Figure" and function.__module__ == module.__name__
    }
    using = [file.name for file in HAWB.rglob("*.py") if "matplotlib" in file.read_text(encoding="utf-8")]
    assert found == set(FIGURES)
    assert sorted(using) == [
        "agreement.py", "embedded.py", "estimate_figures.py", "extra.py", "figures.py",
        "rates_page.py", "replica_page.py", "style.py", "sync_duration.py", "throughput_figures.py",
        "upgrade.py", "upgrade_figure.py",
    ]  # fmt: skip


@pytest.mark.parametrize("draw", sample(FIGURES.values(), 5), ids=FIGURES)
def test_figure_uses_colours_fonts_and_markers_of_the_style(draw: Callable[[], Figure]) -> None:
    figure = draw()
    figure.draw_without_rendering()
    shown = [artist for artist in figure.findobj() if artist.get_visible()]
    assert {colour for artist in shown for colour in colours(artist)} <= ALLOWED
    words = [artist for artist in shown if isinstance(artist, Text) and artist.get_text()]
    assert {family for text in words for family in text.get_fontfamily()} == {"DejaVu Sans"}
    assert {text.get_fontsize() for text in words} <= {8, 8.5, 9, 11}
    marks = {line.get_marker() for axes in figure.axes for line in axes.lines} - {"None", "", None}
    assert marks <= set(style.MARKERS.values())


@each
def test_title_is_a_sentence_and_nothing_is_clipped(draw: Callable[[], Figure]) -> None:
    figure = draw()
    title = figure.get_suptitle()
    assert title[0].isupper() or title[0].isdecimal()
    assert title.endswith(".")
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    written = [artist for artist in figure.texts if artist.get_text()]  # the title and the note
    written += [text for axes in figure.axes for text in axes.texts if text.get_text()]
    for text in written:
        result = text.get_window_extent()
        assert result.x0 >= -2 and result.x1 <= width + 2, text
        assert result.y0 >= -2 and result.y1 <= height + 2, text


@pytest.mark.parametrize("draw", sample(FIGURES.values(), 3), ids=FIGURES)
def test_figure_ignores_the_users_matplotlib_settings(draw: Callable[[], Figure]) -> None:
    usual = pixels(draw())
    with plt.rc_context(ANOTHER_TASTE):
        figure = draw()
    assert pixels(figure) == usual


def test_only_the_style_defines_colours_and_fonts() -> None:
    for file in HAWB.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name != "style.py":
            assert re.findall(r"#[0-9A-Fa-f]{6}\b", text) == [], file
            assert re.findall(r"font-family\W+\w+", text.replace('font-family="{style.FONT}', "")) == [], file
    for file in HAWB.rglob("*.css"):
        css = file.read_text(encoding="utf-8")
        assert re.findall(r"#[0-9A-Fa-f]{6}\b", css) == [], file
        assert {found.strip() for found in re.findall(r"rgb\(([^)/]*)", css)} <= {"0 0 0"}, file  # shadows


def test_equal_styles_have_equal_meanings() -> None:
    alike = defaultdict(set)
    for name, look in style.LOOKS.items():
        alike[look.colour, look.glyph].add(name)
    assert sorted(map(sorted, alike.values()), key=len)[-3:] == [
        ["classic", "master"],
        ["down", "left_over"],
        ["follower", "running", "synchronised"],
    ]


def test_styles_differ_by_more_than_colour() -> None:
    glyphs = defaultdict(set)
    for look in style.LOOKS.values():
        glyphs[look.glyph].add(look.colour)
    coloured = {glyph for glyph, several in glyphs.items() if len(several) > 1}
    assert coloured == {style.LOOKS["fault"].glyph, style.LOOKS["quorum"].glyph}


def test_types_of_queues_differ_in_print_without_colours() -> None:
    classic, quorum = (lightness(style.LOOKS[name].colour) for name in TYPES)
    assert abs(classic - quorum) > 0.25
    assert style.LOOKS["classic"].glyph != style.LOOKS["quorum"].glyph


@pytest.mark.parametrize("theme", [style.LIGHT, style.DARK], ids=["light", "dark"])
def test_text_contrasts_with_every_background(theme: dict[str, str]) -> None:
    grounds, inks = ("ground", "place", "raised", "changed"), {*theme} - {"line", "on-lost"}
    own = {name for name in theme if name.endswith("-ground")}
    pairs = set(product(inks - own - {*grounds}, grounds)) | {("on-lost", "lost"), ("ground", "ink")}
    pairs |= {(text, name) for name in own for text in ("ink", name.removesuffix("-ground"))}
    assert {pair for pair in pairs if contrast(*(theme[name] for name in pair)) < 4.5} == set()
    assert style.LIGHT.keys() == style.DARK.keys()


def colours(artist: Artist) -> Iterator[str]:
    """Yield the colours of an artist without opacity; for a gradient both ends."""
    given: list[object] = []
    if isinstance(artist, ScalarMappable) and artist.get_array() is not None:
        given = [artist.cmap(0.0), artist.cmap(1.0)]
    elif isinstance(artist, Line2D):
        given = [artist.get_color()] if artist.get_linestyle() != "None" else []
        if artist.get_marker() not in ("None", ""):
            given += [artist.get_markerfacecolor(), artist.get_markeredgecolor()]
    elif isinstance(artist, Patch):
        given = [artist.get_facecolor(), *([artist.get_edgecolor()] if artist.get_linewidth() else [])]
    elif isinstance(artist, Collection):
        given = [*artist.get_facecolor(), *artist.get_edgecolor()]
    elif isinstance(artist, Text):
        given = [artist.get_color()] if artist.get_text() else []
    for colour in given:
        for rgba in to_rgba_array(colour):
            if rgba[3]:
                yield to_hex(rgba)


def pixels(figure: Figure) -> bytes:
    """Return a figure as rendered pixels."""
    drawn = BytesIO()
    figure.savefig(drawn, format="raw", dpi=50)
    return drawn.getvalue()


def lightness(colour: str) -> float:
    """Return the lightness of a colour in a grey print, from 0 to 1."""
    red, green, blue, _ = to_rgba_array(colour)[0]
    return 0.299 * red + 0.587 * green + 0.114 * blue


def contrast(one: str, other: str) -> float:
    """The contrast of two colours by WCAG."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """The relative luminance of a colour by WCAG."""
    parts = [float(value) for value in to_rgba_array(colour)[0][:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
