"""Make the folder of a class: learner's editions, the data that they read, and what the teacher needs.

- `lessons/NN-….ipynb`: the learner's edition of each lesson, without solutions and outputs
- `data/…`: what the lessons read
- `answers.html`: the right answers, for the teacher
- `slides.html`: the stored pictures, as slides
- `README.md`: how to hand the lessons out and collect the answers
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from hawb.languages import ENGLISH, _, in_force
from hawb.lessons.answers import NAME, VARIABLE
from hawb.lessons.class_pages import answer_sheet, slides
from hawb.lessons.learner import learners
from hawb.lessons.stored import LONGEST_RUN_S, Lesson, NotStored, lesson, run
from hawb.lessons.translated import TRANSLATED, edition
from hawb.scenario import checkout

CONTENTS = "01-contents.ipynb"
LINKED = re.compile(r"\[([^\]]*)\]\(([\w.-]+\.ipynb)\)")
READ = re.compile(r"\.\./(data/[\w./-]*)")
"""A path of hawb's data in a notebook, as seen from the notebook's folder."""


class NotALesson(ValueError):  # noqa: N818 - it reads as what happened
    """A file is no lesson for a class; `str()` names it, the reason and what to do."""


def found(name: str) -> Path:
    """Return the notebook that a number such as 12 or a file's name stands for. Raise NotALesson."""
    own = checkout.OWN / "notebooks"
    numbered = sorted(own.glob(f"{name}-*.ipynb")) if re.fullmatch("[0-9]{1,2}", name) else []
    file = numbered[0] if numbered else Path(name)
    if file.suffix == ".ipynb" and file.is_file():
        return file
    raise NotALesson(f"{name}: is neither the number of a lesson, such as 12, nor a notebook (.ipynb)")


def every_lesson() -> list[Path]:
    """Return hawb's contents page and the notebooks that it leads to, in their order."""
    own = checkout.OWN / "notebooks"
    words = "".join(cell.source for cell in _read(own / CONTENTS).cells)
    return sorted({own / CONTENTS, *(own / name for _words, name in LINKED.findall(words))})


def files_of(notebooks: Iterable[Path], say: Callable[[str], object] = lambda _line: None) -> dict[str, bytes | str]:
    """Return the files of a class's folder, by their paths in it, in the language in force.

    A notebook whose outputs lack the answers is run first, which `say` is told. Raise NotALesson for a file that is no
    notebook, a broken solution, an unknown exercise, a cell that fails, and two files of one name.
    """
    stored, editions = [], {}
    for file in notebooks:
        if file.name in editions:
            raise NotALesson(f"{file}: another of these notebooks has the name {file.name}; rename one")
        notebook = _read(file)
        try:
            stored.append(_lesson(file, notebook, say))
            editions[file.name] = learners(_translated(file, notebook))
        except ValueError as error:
            raise NotALesson(f"{file}: {error}") from None
    handed_out = {f"lessons/{name}": f"{nbformat.writes(_linked(one, editions))}\n" for name, one in editions.items()}
    data = {path: (checkout.OWN / path).read_bytes() for one in editions.values() for path in sorted(_data(one))}
    first = next((one.name for one in stored if one.asked), stored[0].name)
    pages = {"README.md": readme(first), "answers.html": answer_sheet(stored), "slides.html": slides(stored)}
    return {**pages, **handed_out, **data}


def _read(file: Path) -> NotebookNode:
    try:
        return nbformat.read(file, as_version=4)
    except OSError as error:
        raise NotALesson(f"{file}: cannot be read: {error.strerror}") from None
    except Exception:  # nbformat lets through whatever it meets in a broken file
        raise NotALesson(f"{file}: is not a Jupyter notebook of format 4") from None


def _lesson(file: Path, notebook: NotebookNode, say: Callable[[str], object]) -> Lesson:
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    try:
        return lesson(file.name, notebook)
    except NotStored:
        say(f"{file.name}: runs now, because it does not store the right answers to its predictions")
    try:
        return lesson(file.name, run(notebook, file.parent))
    except CellExecutionError as error:
        raise ValueError(f"a cell fails: {error.ename}: {error.evalue}") from None
    except CellTimeoutError:
        raise ValueError(f"a cell still runs after {LONGEST_RUN_S} s") from None
    except NotStored as lacking:
        raise ValueError(f"the prediction {lacking} has no right answer, also after a run") from None


def _translated(file: Path, notebook: NotebookNode) -> NotebookNode:
    """Return a lesson's edition in the language in force, if hawb has one."""
    own = file.parent == checkout.OWN / "notebooks" and file.name in TRANSLATED
    return edition(notebook, in_force()) if own and in_force() != ENGLISH else notebook


def _linked(notebook: NotebookNode, editions: Mapping[str, object]) -> NotebookNode:
    """Replace links to notebooks that the class does not get by their words."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = LINKED.sub(lambda link: link[0] if link[2] in editions else link[1], cell.source)
    return notebook


def _data(notebook: NotebookNode) -> Iterator[str]:
    """Yield the paths of hawb's data that a notebook reads or links to."""
    for path in {path for cell in notebook.cells for path in READ.findall(cell.source)}:
        place = (checkout.OWN / path).resolve()
        if not place.is_relative_to(checkout.OWN / "data"):
            continue
        for file in [place] if place.is_file() else place.rglob("*"):
            inside = file.relative_to(checkout.OWN)
            if file.is_file() and not any(part.startswith(".") for part in inside.parts):
                yield inside.as_posix()


def readme(first: str) -> str:
    """Return the README of a class's folder; `first` is the file's name of a lesson, for its examples."""
    lines = [
        "# " + _("Lessons for a class"),
        _("`lessons/` contains the lessons without solutions. If there is a folder `data/`, it contains the files that "
          "the lessons read. `answers.html` and `slides.html` are for you: they contain the right answers, and the "
          "pictures to show in class. Use the arrow keys to move between slides. If you print the slides, each one is "
          "on its own page."),
        "## " + _("Hand the lessons out"),
        _("Give each learner `lessons/` and `data/` side by side, without `answers.html`. Each learner needs hawb with "
          "its extra `lab` (in a checkout of hawb: `pipx install '.[lab]'`). A lesson opens in JupyterLab with:"),
        f"```console\n$ hawb lessons lessons/{first}\n```",
        _("Learners run the cells one by one with Shift+Enter, and answer each question before they read on."),
        "## " + _("Open a lesson without code"),
        _("Voilà shows a lesson as a page without code: text, pictures, and questions to click. It runs all cells at "
          "once, so the output of a cell is already below its question: scroll slowly. Learners answer exercises in "
          "code, so they need JupyterLab for exercises; the page says so at each exercise. Links between lessons work "
          "only in JupyterLab: in Voilà, open each lesson by its name."),
        f"```console\n$ hawb lessons --app lessons/{first}\n```",
        "## " + _("Collect the answers"),
        _("hawb stores each learner's guesses and answers for all lessons in one file, `{file}`, beside the lessons. "
          "The file does not contain the learner's name: collect the files, and name each one after its learner. To "
          "store the file elsewhere, for example in a shared folder, set the environment variable `{variable}`:",
          file=NAME, variable=VARIABLE),
        f"```console\n$ {VARIABLE}=/shared/ana.json hawb lessons lessons/{first}\n```",
        _("For each question, `guesses` contains the learner's guess and the right answer (`truth`). For each "
          "exercise, `answers` contains the last answer, whether it is right, what hawb said about it, and the number "
          "of attempts."),
    ]  # fmt: skip
    return "\n\n".join(lines) + "\n"
