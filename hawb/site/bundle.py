"""Bundle what the site's lab and lessons need in a browser: Pyodide, PCRE2, msgspec, PyYAML, hawb and the stories.

Pyodide, PCRE2 and msgspec are used as registries publish them (`runtime/package.json`, `runtime/wheels.txt`), PyYAML
without its compiled part. `make site` fetches them. What only lessons need is in an archive of its own: `hawb.lessons`,
the packages that it imports, replacements of the packages for widgets, and the data that lessons show.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import groupby
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pika
import rich
import traitlets
import yaml

import hawb
from hawb.scenario import checkout
from hawb.site.lab import Listed
from hawb.site.pages import OWN, PlayedStory

PACKAGE = Path(hawb.__file__).parent
RUNTIME = Path(__file__).parent / "runtime"
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PCRE2 = Path("@stephen-riley", "pcre2-wasm", "dist")
LEFT_OUT = {"study", "lessons", "cli"}
"""Packages that a lab without widgets does not use."""
SOURCES = (".py", ".yaml", ".csv", ".mo")
FRONT = (".js", ".css")
DATA = ("guide.yaml", "quorum-guide.yaml", "feature-matrix.yaml", "known-differences.yaml")
"""The files of `data` that lessons show, besides scenarios and recordings."""
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of each file in an archive, so that the same files give the same bytes."""


def write_engine(folder: Path, fetched: Path, stories: Sequence[PlayedStory]) -> None:
    """Write the engine into a site. `fetched` is the folder into which `make site` fetched the runtime."""
    (folder / "runtime").mkdir(exist_ok=True)
    modules = fetched / "node_modules"
    for name in PYODIDE:
        shutil.copyfile(modules / "pyodide" / name, folder / "runtime" / name)
    shutil.copyfile(modules / PCRE2 / "libpcre2.wasm", folder / "runtime" / "libpcre2.wasm")
    (wheel,) = fetched.glob("msgspec-*.whl")
    shutil.copyfile(wheel, folder / "runtime" / "msgspec.whl")
    (folder / "runtime" / "hawb.zip").write_bytes(archive(contents(stories)))
    (folder / "runtime" / "lessons.zip").write_bytes(archive(lesson_contents()))
    for name, text in (
        ("runtime/libpcre2.mjs", as_module((modules / PCRE2 / "libpcre2.js").read_text("utf-8"))),
        *((name, (OWN / name).read_text("utf-8")) for name in ("worker.js", "patterns.js")),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def as_module(library: str) -> str:
    """Return a library for Node.js as a JavaScript module that exports `pcre2`."""
    path = "() => ({ resolve: (folder, file) => folder + file })"
    return f'export const pcre2 = ((require, __dirname) => {{\n{library}\nreturn Module;\n}})({path}, "runtime/");\n'


def archive(named: Iterable[tuple[str, bytes]]) -> bytes:
    """Return an archive of files by their names; the same files give the same bytes."""
    written = BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED, compresslevel=9) as files:
        for name, content in sorted(named):
            files.writestr(ZipInfo(name, LONG_AGO), content, ZIP_DEFLATED, 9)
    return written.getvalue()


def contents(stories: Sequence[PlayedStory]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the lab's archive: hawb, PyYAML, the replacement of pcre2, and the stories."""
    for file in PACKAGE.rglob("*"):
        inside = file.relative_to(PACKAGE)
        if file.suffix in SOURCES and inside.parts[0] not in LEFT_OUT and RUNTIME not in file.parents:
            yield f"hawb/{inside.as_posix()}", file.read_bytes()
    for file in Path(yaml.__file__).parent.glob("*.py"):
        yield f"yaml/{file.name}", file.read_bytes()
    yield "pcre2.py", (RUNTIME / "pcre2.py").read_bytes()
    for one in stories:
        yield f"stories/{one.entry.file.name}", one.entry.file.read_bytes()
    yield "stories/index.json", json.dumps(listed(stories)).encode()


def lesson_contents() -> Iterator[tuple[str, bytes]]:
    """Yield the files of the lessons' archive, which is unpacked beside the lab's."""
    for folder, kinds in ((PACKAGE / "lessons", (*SOURCES, *FRONT)), (PACKAGE / "lab", FRONT)):
        yield from files_of(folder, PACKAGE.parent, kinds)
    for package in (traitlets, rich, pika):
        yield from files_of(Path(package.__file__).parent, Path(package.__file__).parents[1], (".py",))
    for name in ("ipywidgets.py", "anywidget.py"):
        yield name, (RUNTIME / name).read_bytes()
    data = checkout.data_folder_for("the lessons")
    for file in (*DATA, "scenarios", "recorded"):
        yield from files_of(data / file, data.parent, (".yaml", ".json"))


def files_of(place: Path, above: Path, kinds: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield a file, or those of these kinds in a folder, with their names below the folder `above`."""
    for file in place.rglob("*") if place.is_dir() else [place]:
        if file.suffix in kinds and "tests" not in file.parts[len(above.parts) :]:
            yield file.relative_to(above).as_posix(), file.read_bytes()


def listed(stories: Sequence[PlayedStory]) -> Listed:
    """Return the stories as the lab lists them, each group after its heading."""
    return [pair for group, those in groupby(stories, key=lambda one: one.entry.group)
            for pair in [(group, ""), *((one.title, one.entry.file.name) for one in those)]]  # fmt: skip
