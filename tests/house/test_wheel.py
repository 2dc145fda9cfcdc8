"""Builds: reproducible bytes, and a wheel that works in fresh environments."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest
import typed_commands
from browser_pages import asked_until, ended, free_port
from fresh_environments import built, installed
from typed_commands import EVERY, SERVED, Typed

from hawb import __version__
from hawb.cli.extra import MODULES

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
LONG = os.environ.get("HAWB_LONG") == "1"
EXTRAS = ("", "broker", "figures", "lab", "study")
ALSO = {"lab": {"figures"}}
"""Extras that have all of another one."""
PATIENCE_S = 120
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\S*[?&]token=\w+")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, unavailable: Callable[[str], NoReturn]) -> Path:
    if find_spec("hatchling") is None:
        unavailable("hatchling, which builds hawb, is not installed")
    return built(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environments(wheel: Path, tmp_path_factory: pytest.TempPathFactory):
    """Return a function that makes the environment of an extra once and returns its programs."""
    made: dict[str, Path] = {}

    def environment(extra: str) -> Path:
        if extra not in made:
            folder = tmp_path_factory.mktemp(f"with-{extra or 'nothing'}") / "venv"
            made[extra] = installed(wheel, [extra] if extra else [], folder)
        return made[extra]

    return environment


def test_sdist_builds_the_same_wheel_and_sdist(wheel: Path, tmp_path: Path) -> None:
    sdist = built(ROOT, "sdist", tmp_path / "first")
    with tarfile.open(sdist) as packed:
        filters = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # from Python 3.11.4 on
        packed.extractall(tmp_path, **filters)
    unpacked = tmp_path / sdist.name.removesuffix(".tar.gz")
    for file in unpacked.rglob("*"):
        os.utime(file, (1, 1))
    assert built(unpacked, "wheel", tmp_path / "wheel").read_bytes() == wheel.read_bytes()
    assert built(unpacked, "sdist", tmp_path / "second").read_bytes() == sdist.read_bytes()


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_command_works_or_names_the_missing_extra(environments, extra: str, tmp_path: Path) -> None:
    """`make test-long` plays every command in every environment, also slow ones."""
    there = {extra, *ALSO.get(extra, ())}
    typed = [one for one in EVERY if LONG or not extra or (one.extras and not one.slow)]
    typed = [one for one in typed if not (one in SERVED and one.extras <= there)]
    for one, found in zip(typed, played(environments(extra), typed, tmp_path), strict=True):
        assert found["crash"] is None, (one.words, found)
        if lacking := sorted(one.extras - there):
            assert (found["status"], found["out"]) == (2, ""), (one.words, found)
            assert re.fullmatch(rf"hawb .* needs the extra `({'|'.join(lacking)})` .*\n", found["err"]), one.words
        else:
            assert found["status"] == one.status, (one.words, found)


def played(programs: Path, typed: list[Typed], folder: Path) -> list[dict]:
    """Return the results of commands in an environment, run in a folder of their own."""
    command = [programs / "python", "-P", typed_commands.__file__]
    asked = json.dumps([one.filled(folder) for one in typed])
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True, cwd=folder,
                          env=surroundings(folder), timeout=typed_commands.PATIENCE_S)  # fmt: skip
    return json.loads(done.stdout)


def surroundings(home: Path) -> dict[str, str]:
    """Return environment variables of a user who has only the wheel."""
    own = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "HAWB", "JUPYTER"))}
    return own | {"HOME": str(home)}


def test_wheel_installs_the_command_with_its_version(environments, wheel: Path, tmp_path: Path) -> None:
    asked = [environments("") / "hawb", "--version"]
    completed = subprocess.run(asked, capture_output=True, text=True, check=True, env=surroundings(tmp_path),
                          timeout=PATIENCE_S)  # fmt: skip
    assert completed.stdout == f"hawb, version {__version__}\n" and wheel.name.startswith(f"hawb-{__version__}-")


def test_wheel_contains_the_stories_of_the_lesson_with_their_logs(wheel: Path) -> None:
    stories = {name.rpartition("/")[0] for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".log.gz")}
    kept = ("partition-autoheal", "unsynchronised-mirror-promoted")
    assert stories == {f"hawb/workbook/data/logs/3.10/{story}" for story in kept}


def test_the_extras_of_commands_are_tested() -> None:
    assert set(EXTRAS) == {"", *MODULES}


@pytest.mark.parametrize("words", ["lab {story}", "lab --app", "lessons --language zh"])
def test_lab_is_served_to_holders_of_the_token(environments, words: str, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "log"
    command = [environments("lab") / "hawb", *Typed(words).filled(tmp_path), "--no-browser", f"--port={port}"]
    with log.open("wb") as file:
        server = subprocess.Popen(command, stdout=file, stderr=file, cwd=tmp_path, env=surroundings(tmp_path))
    with ended(server):
        address, token = asked_until(lambda: ADDRESS.search(log.read_text()), server)[0].split("?token=")
        shown = asked_until(lambda: once_it_listens(address, token), server)
        assert title(shown) != title(page(address)), "without it, one is asked for it"
        # JupyterLab is told to leave its news out; Voilà has none, and nothing in the environment has told either.
        assert (b"apputils-extension:announcements" in shown) is ("--app" not in words)
    assert (tmp_path / "hawb" / "notebooks" / "00-lab.ipynb").exists()
    assert (tmp_path / "hawb" / "zh").exists() is ("--language" in words)


def once_it_listens(address: str, token: str) -> bytes | None:
    """What a server answers, which may have told its address before; None as long as nobody listens there."""
    try:
        return page(address, token)
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):
            return None
        raise


def page(address: str, token: str = "") -> bytes:
    """What a server answers."""
    with urllib.request.urlopen(f"{address}?token={token}", timeout=PATIENCE_S) as answer:
        return answer.read()


def title(shown: bytes) -> bytes:
    """The title of a page."""
    return re.search(b"<title>(.*?)</title>", shown, re.DOTALL)[1].strip()


@pytest.mark.parametrize("name", ["00-lab", *(["11-a-node-dies", "18-partitions"] if LONG else [])])
def test_a_notebook_of_the_wheel_runs_with_the_extra_lab_alone(environments, name: str, tmp_path: Path) -> None:
    programs = environments("lab")
    handing = "from pathlib import Path; from hawb.lab.workbook import hand_out; hand_out(Path())"
    subprocess.run([programs / "python", "-c", handing], check=True, cwd=tmp_path, env=surroundings(tmp_path),
                   timeout=PATIENCE_S)  # fmt: skip
    notebook = tmp_path / "notebooks" / f"{name}.ipynb"
    running = [programs / "python", "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", notebook]
    subprocess.run(running, check=True, capture_output=True, env=surroundings(tmp_path), timeout=PATIENCE_S)
