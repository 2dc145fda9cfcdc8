"""What the browser tests share: Jupyter's servers on loopback, the pages of a headless Chromium, pictures of them.

Waiting is for what a person would see, never for a time; PATIENCE_S is only when to give up. The pictures stay in
`build/screenshots`, to be looked at.

Pages ask for the system's own font. So that they look the same on any machine, the browser is shown one that has what a
bare Debian with chromium has (fonts-dejavu-core), which also comes with matplotlib, and no hints for small letters.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TypeVar

import pytest

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "screenshots"
CHROMIUM = shutil.which("chromium")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
FONTS = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono", "DejaVuSansMono-Bold", "DejaVuSerif", "DejaVuSerif-Bold")
FONTCONFIG = """\
<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}</dir><cachedir>{folder}/cache</cachedir>
<alias><family>system-ui</family><prefer><family>DejaVu Sans</family></prefer></alias>
<alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
<alias><family>serif</family><prefer><family>DejaVu Serif</family></prefer></alias>
<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
<match target="font">
<edit name="hinting" mode="assign"><bool>false</bool></edit>
<edit name="antialias" mode="assign"><bool>true</bool></edit>
<edit name="rgba" mode="assign"><const>none</const></edit>
</match></fontconfig>
"""
PATIENCE_S = 60
WINDOW = {"width": 1280, "height": 800}
Answer = TypeVar("Answer")


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """Serve JupyterLab on the notebooks of `folder`, and return the notebooks' address, to be followed by
    `NAME?token=…`.
    """
    settings = folder / "home" / "labconfig"
    settings.mkdir(parents=True)
    # Without this it asks about news.
    announcements = '{"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": true}}'
    (settings / "page_config.json").write_text(announcements)
    token = secrets.token_hex()
    command = ["jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--ServerApp.port_retries=0"]
    with served(command, folder, token, "/api") as address:
        yield f"{address}/doc/tree/{{}}?token={token}"


@contextmanager
def voila(folder: Path) -> Iterator[tuple[str, str]]:
    """Serve the app as `make app` does, from the notebooks of `folder`, and return its address and the token."""
    token = secrets.token_hex()
    command = ["voila", "00-lab.ipynb", "--template=hawb"]
    with served(command, folder, token, "/login", JUPYTER_PATH=str(ROOT / "hawb" / "lab" / "jupyter")) as address:
        yield address, token


def free_port() -> int:
    """Return a free port of loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def served(command: list[str], folder: Path, token: str, ready: str, **settings: str) -> Iterator[str]:
    """A server started in the notebooks of `folder`, once `ready` answers; its address. What it keeps between runs
    stays in the folder; `settings` are more of its environment."""
    port = free_port()
    home = folder / "home"
    own = {"HOME": home, "JUPYTER_CONFIG_DIR": home, "JUPYTER_DATA_DIR": home / "data", "IPYTHONDIR": home / "ipython"}
    environment = os.environ | {key: str(path) for key, path in own.items()} | {"JUPYTER_TOKEN": token} | settings
    module = [sys.executable, "-m", *command, f"--port={port}"]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(module, stdout=log, stderr=log, cwd=folder / "notebooks", env=environment)
    with ended(server):
        wait_until_it_answers(f"http://127.0.0.1:{port}{ready}?token={token}", server)
        yield f"http://127.0.0.1:{port}"


@contextmanager
def ended(server: subprocess.Popen) -> Iterator[None]:
    """End a server afterwards, whatever the test's outcome."""
    try:
        yield
    finally:
        server.terminate()  # the server shuts its kernels down before it goes
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def wait_until_it_answers(address: str, server: subprocess.Popen) -> None:
    """Return once the server answers. Fails if it ends or takes too long."""

    def answers() -> bool:
        with suppress(OSError):
            urllib.request.urlopen(address, timeout=5).close()
            return True
        return False

    asked_until(answers, server)


def asked_until(question: Callable[[], Answer], server: subprocess.Popen) -> Answer:
    """Ask a server until it answers, and return the answer. Fails if it ends or takes too long."""
    limit = monotonic() + PATIENCE_S
    while monotonic() < limit:
        if answer := question():
            return answer
        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"the server ended with exit status {server.wait(timeout=0.1)}")
    pytest.fail(f"the server did not answer within {PATIENCE_S} s")


_STARTED = ExitStack()
"""The browser, playwright and the folder of fonts, for `close_chromium` to close."""
_CHROMIUM: list = []
"""The browser of this process, once a test has asked for it."""


@contextmanager
def chromium() -> Iterator:
    """The one Chromium of this process, which is started for the first test that asks for it. The pages that are opened
    meanwhile are closed at the end."""
    from playwright.sync_api import sync_playwright

    if not _CHROMIUM:
        folder = _STARTED.enter_context(TemporaryDirectory())
        fonts = Path(find_spec("matplotlib").origin).parent / "mpl-data" / "fonts" / "ttf"
        for name in FONTS:
            Path(folder, f"{name}.ttf").symlink_to(fonts / f"{name}.ttf")
        settings = Path(folder, "fonts.conf")
        settings.write_text(FONTCONFIG.format(folder=folder), encoding="utf-8")
        environment = os.environ | {"FONTCONFIG_FILE": str(settings)}
        playwright = _STARTED.enter_context(sync_playwright())
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, env=environment)
        _CHROMIUM.append(_STARTED.enter_context(started))
    browser = _CHROMIUM[0]
    before = list(browser.contexts)
    try:
        yield browser
    finally:
        for context in [context for context in browser.contexts if context not in before]:
            context.close()


def close_chromium() -> None:
    """End the Chromium of this process. While there is one, playwright has an event loop that no other test bears."""
    _CHROMIUM.clear()
    _STARTED.close()


@contextmanager
def page_of(size: dict[str, int] = WINDOW) -> Iterator:
    """Return an empty page."""
    with chromium() as browser:
        page = browser.new_page(viewport=size)
        page.set_default_timeout(PATIENCE_S * 1000)
        yield page


def open_notebook(page, address: str) -> None:
    """Open a notebook in JupyterLab and return once there is a kernel. Nothing has run yet."""
    page.goto(address)
    page.locator("#jp-main-statusbar").get_by_text("Idle").wait_for()


def run(page, what: str) -> None:
    """Choose an entry of JupyterLab's menu Run."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name=what).first.click()


def faults(page, within: str | None = None, rules: Sequence[str] = ()) -> list[str]:
    """Return what axe finds serious or critical in a page, or in the part that a selector chooses.

    With `rules` it checks only these.
    """
    from axe_playwright_python.sync_playwright import Axe

    only = {"runOnly": {"type": "rule", "values": [*rules]}} if rules else {}
    found = Axe().run(page, context=within, options={"resultTypes": ["violations"], **only}).response["violations"]
    return [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary']}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def keep_picture(shown, name: str) -> None:
    """Save what a page or a part of it shows as build/screenshots/NAME.png."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    shown.screenshot(path=PICTURES / f"{name}.png")


def why_no_browser() -> str | None:
    """Return what is missing for a test with a browser, or None."""
    if CHROMIUM is None:
        return "Chromium is missing; on Debian and Ubuntu: apt-get install chromium"
    return "Python's playwright is missing: make setup" if find_spec("playwright") is None else None
