"""Build the site into a folder.

    python -m hawb.site FOLDER [--runtime FETCHED] [SCENARIO...]

With a FETCHED runtime (`hawb.site.bundle`) the site includes the engine; without it, its lab knows only the first
moves, and its lessons can only be read. Stories are those of `data/scenarios`, all or the named ones. As many stories
are played in parallel as there are processors.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from hawb.languages import LANGUAGES
from hawb.scenario.catalogue import Entry, catalogue
from hawb.scenario.checkout import data_folder_for
from hawb.site.bundle import listed, write_engine
from hawb.site.front_page import first_script, front_page, front_script
from hawb.site.lesson_pages import lesson_pages, lesson_script
from hawb.site.pages import OWN, PlayedStory, index_page, played_story, replay_script, story_page, stylesheet
from hawb.site.replay import replay


def build(
    folder: Path,
    names: Sequence[str] = (),
    fetched: Path | None = None,
    processes: int | None = None,
    languages: Sequence[str] = (*LANGUAGES,),
) -> list[PlayedStory]:
    """Write the site with all scenarios, or the named ones, and return the entries of its index.

    The site includes the engine if its runtime was `fetched`. The first page has its first moves, and lessons have
    pages, in `languages`, one of which is English. Raise KeyError for a name that no scenario has.
    """
    known = {entry.name: entry for entry in catalogue(data_folder_for("the site") / "scenarios")}
    chosen = [known[name] for name in names] if names else list(known.values())
    for inside in ("stories", "lessons"):
        (folder / inside).mkdir(parents=True, exist_ok=True)
    write = partial(write_story, folder, fetched is not None)
    if processes == 1:
        stories = [write(entry) for entry in chosen]
    else:
        with ProcessPoolExecutor(processes) as pool:
            stories = list(pool.map(write, chosen, chunksize=4))
    if fetched is not None:
        write_engine(folder, fetched, stories)
    for name, text in (
        ("index.html", front_page(chosen, fetched is not None, languages)),
        ("front.js", front_script()),
        *((f"first-{name}.js", first_script(name, listed(stories))) for name in languages),
        ("stories.html", index_page(stories)),
        ("stories.js", (OWN / "stories.js").read_text("utf-8")),
        ("replay.js", replay_script()),
        ("site.css", stylesheet()),
        ("lesson.js", lesson_script()),
        *((f"lessons/{name}", page) for name, page in lesson_pages(fetched is not None, languages)),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return stories


def write_story(folder: Path, has_lab: bool, entry: Entry) -> PlayedStory:
    """Play a story, write its page, and return its entry of the index."""
    played = replay(entry.file)
    (folder / "stories" / f"{entry.name}.html").write_text(story_page(entry, played, has_lab), encoding="utf-8")
    return played_story(entry, played)


def size_bytes(folder: Path) -> int:
    """Return the size of a site."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def main(arguments: Sequence[str]) -> None:
    """Build the site, and print its size."""
    parser = ArgumentParser(prog="python -m hawb.site", description="Builds the site into a folder.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("scenarios", nargs="*", help="names of scenarios; all of them by default")
    parser.add_argument("--runtime", type=Path, help="the folder into which `make site` fetched what the lab runs on")
    given = parser.parse_intermixed_args(arguments)
    folder = given.folder
    stories = build(folder, [Path(name).stem for name in given.scenarios], given.runtime)
    sys.stdout.write(f"{folder / 'index.html'}: {len(stories)} stories, {size_bytes(folder) / 1e6:.1f} MB\n")
