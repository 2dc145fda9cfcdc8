"""The commands that open notebooks: `hawb lab` and `hawb lessons`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from hawb.cli.files import STDIN, Destination, cluster_of, refuse, say_when_written, write_folder
from hawb.cli.language import in_a_language
from hawb.languages import VARIABLE
from hawb.scenario.dump import dump
from hawb.scenario.saving import Kind
from hawb.views.formatting import shown

JUPYTER = Path(__file__).parents[1] / "lab" / "jupyter"
"""Settings of JupyterLab, and the template of Voilà's page."""
LAB, LESSONS = "notebooks/00-lab.ipynb", "notebooks/01-contents.ipynb"


def at_home() -> Path:
    """Return the default folder of notebooks and data. End the program if the user has no home directory."""
    try:
        return Path.home() / "hawb"
    except RuntimeError:
        raise SystemExit(
            refuse("there is no home directory: name a folder for notebooks and data with --folder")
        ) from None


in_a_folder = click.option(
    "--folder", type=Destination(Kind.FOLDER), default=at_home,
    show_default="hawb in your home folder", help="The folder to which hawb copies notebooks and data.",
)  # fmt: skip
on_a_port = click.option("--port", type=click.IntRange(0, 65535), default=8888, show_default=True, help="The port on"
                         " the loopback address. If it is taken, the next free port is used.")  # fmt: skip
unopened = click.option(
    "--no-browser", is_flag=True, help="Print the address, with its token, and do not open a browser."
)


@click.command()
@click.argument("files", nargs=-1)
@in_a_folder
@click.option("--app", is_flag=True, help="Open only the lab, as a page without code (Voilà).")
@on_a_port
@unopened
@in_a_language
def lab(files: tuple[str, ...], folder: Path, app: bool, port: int, no_browser: bool, language: str) -> None:
    """Open the lab in JupyterLab.

    JupyterLab accepts connections from this machine only, and asks for a token. FILES are a scenario (.yaml, - for
    standard input), or a definitions export and listings of one cluster. Without FILES, the lab opens an example
    cluster. hawb first copies notebooks and data to the folder given with --folder. It never overwrites a file that you
    have changed in that folder.
    """
    opened = cluster_of(files)[0] if files else None
    os.environ[VARIABLE] = language  # for the kernels
    bring(folder)
    notebook = folder / LAB
    if opened is not None:
        from hawb.lab.workbook import own_notebook

        name = Path(files[0].rpartition("=")[2]).stem if files[0] != STDIN else "standard-input"
        with written_to(folder):
            notebook = own_notebook(folder, name, dump(opened))
    (serve_app if app else serve)(folder, notebook, port, no_browser)


@click.command()
@click.argument("notebooks", nargs=-1, metavar="[NOTEBOOK]...")
@in_a_folder
@click.option("--class", "of_class", type=Destination(Kind.NEW_FOLDER), metavar="FOLDER",
              help="Write the lessons for a class into this new folder, and open nothing.")  # fmt: skip
@click.option("--app", is_flag=True, help="Open NOTEBOOK as a page without code (Voilà).")
@on_a_port
@unopened
@in_a_language
def lessons(
    notebooks: tuple[str, ...], folder: Path, of_class: Path | None, app: bool, port: int, no_browser: bool,
    language: str,
) -> None:  # fmt: skip
    """Open the lessons in JupyterLab.

    NOTEBOOK is a notebook file, or the number of a lesson, such as 12. Without NOTEBOOK, hawb copies notebooks and data
    to the folder given with --folder, and opens the contents page. It never overwrites a file that you have changed in
    that folder. JupyterLab accepts connections from this machine only.

    Lessons 10, 11, 13, 17 and 19 are also available in Chinese (zh) and Brazilian Portuguese (pt): with --language zh
    or pt and no NOTEBOOK, lesson 10 opens in that language. The other lessons are in English.

    For teachers, --class writes a folder with the lessons without their solutions, an answer sheet, slides with the
    pictures, and a README that says how to hand out the lessons and collect the answers. With --class, you can give
    several NOTEBOOKs. Without NOTEBOOK, the folder has all lessons.
    """
    os.environ[VARIABLE] = language  # for the kernels' lab
    if of_class is not None:
        if app:
            raise click.UsageError("--class opens nothing: leave --app out.")
        return write_class(of_class, notebooks, language)
    if len(notebooks) > 1 or (app and not notebooks):
        raise click.UsageError("Give one NOTEBOOK to open, or --class FOLDER for several.")
    if notebooks:
        notebook = chosen(notebooks[0]).resolve()
        return (serve_app if app else serve)(notebook.parent, notebook, port, no_browser)
    from hawb.lessons.translated import editions

    translated = editions(language)
    bring(folder, translated)
    serve(folder, folder / next(iter(translated), LESSONS), port, no_browser)


def chosen(name: str) -> Path:
    """Return the notebook that a number or a file's name stands for. End the program if there is none."""
    from hawb.lessons.class_folder import NotALesson, found

    try:
        return found(name)
    except NotALesson as refused:
        raise SystemExit(refuse(refused)) from None


def write_class(folder: Path, names: Sequence[str], language: str) -> None:
    """Write the folder of a class. End the program if a notebook is refused."""
    from hawb import languages
    from hawb.lessons.class_folder import NotALesson, every_lesson, files_of

    notebooks = [chosen(name) for name in names] or every_lesson()
    try:
        with languages.language(language):
            texts = files_of(notebooks, lambda line: click.echo(shown(line), err=True))
    except NotALesson as refused:
        raise SystemExit(refuse(refused)) from None
    write_folder(folder, texts)
    say_when_written(f"{shown(folder)}: lessons, answers.html and slides.html; README.md says how to use them")


def bring(folder: Path, made: Mapping[str, bytes] | None = None) -> None:
    """Update the notebooks and data in a folder; list on standard error the files that the user has changed.

    `made` are further files to write. The notebooks that are written become trusted in Jupyter.
    """
    from hawb.lab.workbook import hand_out, trust

    written: list[Path] = []
    with written_to(folder):
        kept = hand_out(folder, made, written.append)
    trust(file for file in written if file.suffix == ".ipynb")
    click.echo(f"notebooks and data are in {shown(folder)}", err=True)
    if kept:
        note = f"you have changed these files, so hawb kept them (delete a file to get a new copy): {', '.join(kept)}"
        click.echo(shown(note), err=True)


@contextmanager
def written_to(folder: Path) -> Iterator[None]:
    """End the program with a message if a folder cannot be written to."""
    try:
        yield
    except OSError as error:
        raise SystemExit(refuse(f"{folder}: notebooks cannot be copied there: {error.strerror}")) from None


def serve(folder: Path, notebook: Path, port: int, no_browser: bool) -> None:
    """Serve a folder with JupyterLab until it is stopped."""
    _without_news()
    from jupyterlab.labapp import main

    where = notebook.relative_to(folder).as_posix()
    options = [f"--ServerApp.root_dir={folder.resolve()}", f"--LabApp.default_url=/doc/tree/{where}"]
    main([*_on_loopback(port, no_browser), *options])


def serve_app(folder: Path, notebook: Path, port: int, no_browser: bool) -> None:
    """Serve a notebook with Voilà until it is stopped, on loopback only.

    The settings are in notebooks/voila.json: in the reader's folder or, if the folder has no such file, in hawb.
    """
    _looked_for("JUPYTER_PATH", JUPYTER)
    from voila.app import main

    from hawb.scenario import checkout

    own = folder.resolve() / "notebooks"
    settings = own if (own / "voila.json").is_file() else checkout.OWN / "notebooks"
    opens = "False" if no_browser else "True"
    options = [f"--port={port}", f"--Voila.config_file_paths={settings}", f"--Voila.open_browser={opens}"]
    main([str(notebook.resolve()), "--template=hawb", *options])


def _on_loopback(port: int, no_browser: bool) -> Sequence[str]:
    """Return JupyterLab's arguments. Jupyter makes a token itself; `--allow-root` has no effect for other users."""
    return "--ip=127.0.0.1", f"--port={port}", "--allow-root", *(["--no-browser"] if no_browser else [])


def _without_news() -> None:
    """Stop JupyterLab from asking, when the lab opens, whether to fetch news from the Internet."""
    _looked_for("JUPYTER_CONFIG_PATH", JUPYTER)


def _looked_for(variable: str, folder: Path) -> None:
    """Put a folder before the other folders in one of Jupyter's environment variables."""
    os.environ[variable] = os.pathsep.join(filter(None, (str(folder), os.environ.get(variable))))
