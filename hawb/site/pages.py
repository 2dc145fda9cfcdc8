"""Build the site's pages.

Each can be read without scripts; a script beside the page plays a story, and searches the index. Nothing is fetched
from other servers, and all pages work when they are opened from a file.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from hawb.lab.stage import FRONT, MODULES
from hawb.languages import LANGUAGES, in_force
from hawb.scenario.catalogue import Entry
from hawb.views import style
from hawb.views.formatting import counted, html
from hawb.views.story.summary import HARMED, LOST, WELL

OWN = Path(__file__).parent / "front"
LESSON_STYLE = Path(__file__).parents[1] / "lessons" / "front" / "lesson.css"
POLICY = "default-src 'none'; script-src 'self' file:; style-src 'self' file: 'unsafe-inline'; img-src data:"
ENGINE_POLICY = (
    "default-src 'none'; script-src 'self' file: 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self';"
    " style-src 'self' file: 'unsafe-inline'; img-src data:"
)
"""The policy of pages that start the engine."""
SIGNS = {LOST: ("▼", "messages lost"), HARMED: ("◌", "out of use"), WELL: ("✓", "nothing lost")}
"""The sign and the words for the end of a story."""
ENGINE = ("menu", "stage")
"""Modules of the stage that need an engine, which a replay does not have."""
THEMED = {"master": "master", "synchronised": "held", "unsynchronised": "lacking"}
"""Roles whose colour a picture has, and the colour of the theme that replaces it."""


class PlayedStory(NamedTuple):
    """The entry of a story in the index."""

    entry: Entry
    title: str
    version: str
    steps: int
    tone: str
    verdict: str


def played_story(entry: Entry, played: dict) -> PlayedStory:
    """Return the index's entry of a story that was played."""
    end = played["stops"][-1]["verdict"]
    return PlayedStory(entry, played["title"], played["version"], len(played["done"]), end["tone"], end["text"])


def stylesheet() -> str:
    """Return the stylesheet of all pages: the reader's light or dark theme, the stage's styles, and the site's own."""
    light, dark = style.properties(style.LIGHT), style.properties(style.DARK)
    ground = f":root {{ color-scheme: light dark; {light} }}\n"
    ground += f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    files = (FRONT / "stage.css", FRONT.parent / "lab.css", LESSON_STYLE, OWN / "site.css")
    return ground + "".join(file.read_text("utf-8") for file in files) + _colours_of_pictures()


def _colours_of_pictures() -> str:
    """Return rules that draw the pictures of the first page's stories in the colours of the theme."""
    return "".join(
        f'.ws-chosen svg [{part}="{style.LOOKS[role].colour}"] {{ {part}: var(--hawb-{name}); }}\n'
        for role, name in THEMED.items() for part in ("fill", "stroke")
    )  # fmt: skip


def replay_script() -> str:
    """Return the script of a story's page: the lab's drawing modules, and the recorded story in place of an engine."""
    drawing = [FRONT / f"{name}.js" for name in MODULES if name not in ENGINE]
    modules = [*drawing, OWN / "unpacked.js", OWN / "replay.js"]
    return own_script(*(file.read_text("utf-8") for file in modules))


def own_script(*modules: str) -> str:
    """Return modules as one script that defines no global names."""
    return '"use strict";\n(() => {\n' + "\n".join(modules) + "})();\n"


def packed(value: object) -> str:
    """Return a value as text inside a page: JSON, deflated, in base64."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(text, 9)).decode()


def document(title: str, body: str, up: str = "", scripts: Sequence[str] = (), policy: str = POLICY) -> str:
    """Return a page in the language in force. Its stylesheet and scripts are in the folder `up`."""
    run = "".join(f'<script defer src="{up}{name}"></script>' for name in scripts)
    return (
        f'<!DOCTYPE html>\n<html lang="{LANGUAGES[in_force()].tag}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{title}</title>'
        f'<link rel="icon" href="data:,"><link rel="stylesheet" href="{up}site.css">{run}</head>'
        f"<body>{body}</body></html>\n"
    )


def story_page(entry: Entry, played: dict, has_lab: bool = False) -> str:
    """Return the page of a story.

    Without scripts it lists the steps and, folded, how the story ends and why.
    """
    end = played["stops"][-1]
    facts = [f"RabbitMQ {html(played['release'])}", counted(len(played["done"]), "step")]
    guide = "mirroring guide " if entry.source.startswith("#") else ""
    facts += [f"Source: {guide}{html(entry.source)}"] if entry.source else []
    facts += [f'<a href="../index.html#story={html(entry.name)}">Open in the lab</a>'] if has_lab else []
    steps = "".join(f"<li>{html(step)}</li>" for step in played["done"])
    why = "".join(f"<p>{html(text)}</p>" for text in end["why"])
    inner = f"<ol>{steps}</ol><details><summary>How it ends</summary>{verdict(end['verdict'])}{why}</details>"
    return document(
        f"{html(played['title'])} · hawb",
        f'<header class="ws-top"><p class="ws-path"><a href="../index.html">hawb</a> ›'
        f' <a href="../stories.html">Stories</a> › {html(entry.group)}</p>'
        f'<h1>{html(played["title"])}</h1><p class="ws-facts">{facts_of(facts)}</p></header>'
        f'<main class="ws-story"><div class="ws-replay" id="replay">{inner}</div></main>'
        f'<script type="text/plain" id="story">{packed(played)}</script>',
        "../",
        ["replay.js"],
    )


def facts_of(facts: Iterable[str]) -> str:
    """Return short facts, each in HTML, side by side."""
    return "".join(f"<span>{fact}</span>" for fact in facts)


def verdict(said: dict) -> str:
    """Return the verdict on a story as HTML, as on the stage."""
    tone, text = said["tone"], html(said["text"])
    return f'<p class="hs-verdict hs-{tone}"><i aria-hidden="true">{SIGNS[tone][0]}</i><span>{text}</span></p>'


def index_page(stories: Sequence[PlayedStory]) -> str:
    """Return the index: all stories in their groups, with a search."""
    groups = [(group, list(those)) for group, those in groupby(stories, key=lambda one: one.entry.group)]
    contents = "".join(f'<li><a href="#{anchor(at)}">{html(group)} <small>{len(those)}</small></a></li>'
                       for at, (group, those) in enumerate(groups))  # fmt: skip
    sections = "".join(section(anchor(at), group, those) for at, (group, those) in enumerate(groups))
    return document(
        "All stories · hawb",
        f'<header class="ws-top ws-front"><div class="ws-path"><a href="index.html">hawb</a> › Stories</div>'
        f"<h1>All stories</h1><p>{len(stories)} stories, each played by hawb’s model of RabbitMQ. The line below a"
        f" title says how the story ends. Open it to watch it step by step, and read why.</p>{finder(stories)}</header>"
        f'<div class="ws-index"><nav aria-label="groups"><ul>{contents}</ul></nav>'
        f'<main>{sections}<p class="ws-none" role="status" hidden>No story has all these words.</p></main></div>',
        scripts=["stories.js"],
    )


def anchor(at: int) -> str:
    """Return the anchor of a group on the index."""
    return f"group-{at + 1}"


def finder(stories: Sequence[PlayedStory]) -> str:
    """Return the search form: words, how stories end, and the release."""
    ends = "".join(
        f'<label><input type="radio" name="tone" value="{tone}"{" checked" * (not tone)}>{words} '
        f"<small>{count}</small></label>"
        for tone, words, count in [("", "all", len(stories)), *_ends(stories)]
    )
    versions = sorted({one.version for one in stories}, key=lambda version: [*map(int, version.split("."))])
    choices = "".join(f'<option value="{html(version)}">RabbitMQ {html(version)}</option>' for version in versions)
    return (
        '<form class="ws-find" role="search"><label class="ws-words"><span>Find</span>'
        '<input type="search" id="words" autocomplete="off" placeholder="promoted, partition, incident-…"></label>'
        f"<fieldset><legend>How it ends</legend>{ends}</fieldset>"
        '<label><span>Release</span><select id="version"><option value="">every release</option>'
        f"{choices}</select></label></form>"
    )


def _ends(stories: Sequence[PlayedStory]) -> list[tuple[str, str, int]]:
    ends = Counter(one.tone for one in stories)
    return [(tone, f"{sign} {words}", ends[tone]) for tone, (sign, words) in SIGNS.items()]


def section(place: str, group: str, stories: Sequence[PlayedStory]) -> str:
    """Return a group of the index."""
    rows = "".join(row(one) for one in stories)
    return f'<section id="{place}"><h2>{html(group)}</h2><ul class="ws-stories">{rows}</ul></section>'


def row(one: PlayedStory) -> str:
    """Return a story of the index."""
    sign, words = SIGNS[one.tone]
    return (
        f'<li data-tone="{one.tone}" data-version="{html(one.version)}"><a href="stories/{html(one.entry.name)}.html">'
        f'<i class="hs-{one.tone}" aria-label="{words}" role="img">{sign}</i><b>{html(one.title)}</b>'
        f"<span>{html(one.verdict)}</span><small>{html(one.version)} · {counted(one.steps, 'step')}</small></a></li>"
    )
