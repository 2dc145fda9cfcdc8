"""What the site's lab runs on in a browser: Pyodide, PCRE2 and msgspec as registries have them (`runtime/package.json`,
`runtime/wheels.txt`; `make site` fetches them), PyYAML without what is compiled of it, hawb itself, and the stories.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import groupby
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import yaml

import hawb
from hawb.lab.stage import front_end
from hawb.site.pages import OWN, Told, document

PACKAGE = Path(hawb.__file__).parent
RUNTIME = Path(__file__).parent / "runtime"
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PCRE2 = Path("@stephen-riley", "pcre2-wasm", "dist")
LEFT_OUT = {"study", "lessons", "cli"}
"""Rooms that a lab without widgets has no use for."""
SOURCES = (".py", ".yaml", ".csv", ".mo")
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of each file in an archive, so that the same files are the same bytes."""

POLICY = (
    "default-src 'none'; script-src 'self' file: 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self';"
    " style-src 'self' file: 'unsafe-inline'; img-src data:"
)
WAITING = "Fetching Python…"
UNSERVED = (
    "<h2>The lab has to be served</h2><p>It runs Python in this page, which a browser allows only for pages that come"
    " from a server. In the folder of this page type</p><pre>python3 -m http.server --bind 127.0.0.1</pre>"
    "<p>and open http://127.0.0.1:8000/lab.html. The stories need no server.</p>"
)
LINK = (
    '<p class="ws-lab"><a href="lab.html">Open the lab</a> to stop, kill and cut off nodes yourself: the whole engine'
    " runs in the page, and takes some seconds to start.</p>"
)


def write_lab(folder: Path, fetched: Path, stories: Sequence[Told]) -> None:
    """Writes the lab into a site. `fetched` is the folder into which `make site` fetched the runtime."""
    (folder / "runtime").mkdir(exist_ok=True)
    modules = fetched / "node_modules"
    for name in PYODIDE:
        shutil.copyfile(modules / "pyodide" / name, folder / "runtime" / name)
    shutil.copyfile(modules / PCRE2 / "libpcre2.wasm", folder / "runtime" / "libpcre2.wasm")
    (wheel,) = fetched.glob("msgspec-*.whl")
    shutil.copyfile(wheel, folder / "runtime" / "msgspec.whl")
    (folder / "runtime" / "hawb.zip").write_bytes(archive(stories))
    for name, text in (
        ("runtime/libpcre2.mjs", as_module((modules / PCRE2 / "libpcre2.js").read_text("utf-8"))),
        *((name, (OWN / name).read_text("utf-8")) for name in ("worker.js", "patterns.js")),
        ("lab.js", lab_script()),
        ("lab.css", (PACKAGE / "lab" / "lab.css").read_text("utf-8")),
        ("lab.html", lab_page()),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def as_module(library: str) -> str:
    """A library that was made for Node.js, as a module with `pcre2`."""
    path = "() => ({ resolve: (folder, file) => folder + file })"
    return f'export const pcre2 = ((require, __dirname) => {{\n{library}\nreturn Module;\n}})({path}, "runtime/");\n'


def lab_script() -> str:
    """The script of the lab's page: the stage's front end, and what stands around it."""
    front = front_end().replace("export default { render };", "")
    return f'"use strict";\n(() => {{\n{front}\n{(OWN / "lab.js").read_text("utf-8")}}})();\n'


def lab_page() -> str:
    """The lab's page, which says what it waits for until there is an engine."""
    body = (
        '<p class="ws-path ws-over"><a href="index.html">Stories</a> › The lab</p>'
        f'<main class="hawb-lab ws-served"><p id="waiting" class="ws-waiting" role="status">{WAITING}</p>'
        f'<div id="unserved" class="ws-unserved" hidden>{UNSERVED}</div><div id="stage"></div></main>'
    )
    page = document("hawb lab", body, scripts=["lab.js"], policy=POLICY)
    return page.replace('<link rel="stylesheet" href="site.css">',
                        '<link rel="stylesheet" href="lab.css"><link rel="stylesheet" href="site.css">')  # fmt: skip


def archive(stories: Sequence[Told]) -> bytes:
    """What is unpacked beside Python's own packages: hawb, PyYAML, the stand-in for pcre2, and the stories."""
    written = BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED, compresslevel=9) as files:
        for name, content in sorted(contents(stories)):
            files.writestr(ZipInfo(name, LONG_AGO), content, ZIP_DEFLATED, 9)
    return written.getvalue()


def contents(stories: Sequence[Told]) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the archive's files."""
    for file in PACKAGE.rglob("*"):
        inside = file.relative_to(PACKAGE)
        if file.suffix in SOURCES and inside.parts[0] not in LEFT_OUT and RUNTIME not in file.parents:
            yield f"hawb/{inside.as_posix()}", file.read_bytes()
    for file in Path(yaml.__file__).parent.glob("*.py"):
        yield f"yaml/{file.name}", file.read_bytes()
    yield "pcre2.py", (RUNTIME / "pcre2.py").read_bytes()
    for one in stories:
        yield f"stories/{one.entry.file.name}", one.entry.file.read_bytes()
    listed = [pair for group, those in groupby(stories, key=lambda one: one.entry.group)
              for pair in [(group, ""), *((one.title, one.entry.file.name) for one in those)]]  # fmt: skip
    yield "stories/index.json", json.dumps(listed).encode()
