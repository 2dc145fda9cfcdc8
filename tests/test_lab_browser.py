"""The lab's notebook in a real JupyterLab and browser: a person kills a master, reads the loss, takes it back, and
parts the master from its mirror."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "00-lab.ipynb"
SCENARIO = """\
scenario: A mirror that came late
seed: 1
cluster: {nodes: [a, b], version: "3.10"}
policies: [{name: ha-all, pattern: '^ha', definition: {ha-mode: all}}]
steps:
- declare: {queue: ha.late, node: a}
- stop: b
- publish: {queue: ha.late, count: 7}
- start: b
- publish: {queue: ha.late, count: 3}
"""
PATIENCE_S = 40


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """A JupyterLab on loopback with `folder`'s notebook and settings of its own; its address, with the token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex()
    home = folder / "home"
    # Everything that Jupyter keeps between runs stays in the folder; without the setting it asks about news.
    (home / "labconfig").mkdir(parents=True)
    announcements = '{"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": true}}'
    (home / "labconfig" / "page_config.json").write_text(announcements)
    own = {"HOME": home, "JUPYTER_CONFIG_DIR": home, "JUPYTER_DATA_DIR": home / "data", "IPYTHONDIR": home / "ipython"}
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"),
        *(f"--ServerApp.root_dir={folder / 'notebooks'}", f"--IdentityProvider.token={token}"),
        "--ServerApp.port_retries=0",
    ]
    with (folder / "jupyterlab.log").open("wb") as log:
        server = subprocess.Popen(
            command, stdout=log, stderr=log, cwd=folder, env=os.environ | {key: str(path) for key, path in own.items()}
        )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until_it_answers(f"{address}/api?token={token}", server)
        yield f"{address}/doc/tree/00-lab.ipynb?token={token}"
    finally:
        server.terminate()  # JupyterLab shuts its kernels down before it goes
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def wait_until_it_answers(address: str, server: subprocess.Popen) -> None:
    """Returns once the server answers; fails when it ends or takes too long."""
    limit = monotonic() + PATIENCE_S
    while monotonic() < limit:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            with suppress(subprocess.TimeoutExpired):
                pytest.fail(f"JupyterLab ended with exit status {server.wait(timeout=0.1)}")
    pytest.fail(f"JupyterLab did not answer within {PATIENCE_S} s")


@contextmanager
def page_at(address: str) -> Iterator:
    """The notebook's page, with all its cells set running once there is a kernel to run them."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS) as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE_S * 1000)
        page.goto(address)
        page.locator("#jp-main-statusbar").get_by_text("Idle").wait_for()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        yield page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder laid out as the repository is, with the notebook and a scenario of its own."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "data" / "scenarios").mkdir(parents=True)
    shutil.copy(NOTEBOOK, tmp_path / "notebooks")
    (tmp_path / "data" / "scenarios" / "late.yaml").write_text(SCENARIO)
    return tmp_path


@pytest.mark.browser
def test_a_loss_is_read_and_taken_back_and_a_partition_seen_from_both_sides(folder, unavailable):
    if CHROMIUM is None:
        unavailable("there is no chromium on the PATH")
    if find_spec("playwright") is None:
        unavailable("playwright is not installed")
    with jupyterlab(folder) as address, page_at(address) as page:
        lab = page.locator(".hawb-lab")
        lab.get_by_label("scenario").select_option(label="A mirror that came late")
        lab.locator(".hawb-matrix").get_by_text("ha.late", exact=True).wait_for()
        master = lab.locator(".hawb-node").filter(has=page.get_by_text("a", exact=True))
        master.get_by_role("button", name="kill").click()
        lab.get_by_text("7 messages lost: why?").click()
        cause = lab.locator("details p")
        cause.wait_for()
        assert "Messages 1 to 7 of ha.late were lost" in cause.inner_text()
        assert "not synchronised" in cause.inner_text()
        lab.get_by_role("button", name="undo").click()
        cause.wait_for(state="detached")
        assert lab.get_by_text("lost: why?").count() == 0
        assert master.get_by_role("button", name="kill").is_visible()
        lab.get_by_label("queue", exact=True).fill("votes")
        lab.get_by_label("queue", exact=True).press("Enter")
        lab.get_by_label("type", exact=True).select_option(label="quorum")
        lab.get_by_role("button", name="declare", exact=True).click()
        lab.locator(".hawb-raft").get_by_text("Raft log of votes").wait_for()
        master.get_by_role("combobox").select_option(label="cut off from all others (partition)")
        lab.locator(".hawb-links").get_by_text("1 link down").wait_for()
        lab.get_by_role("button", name="wait").click()
        lab.locator(".hawb-matrix").get_by_text("by b", exact=True).wait_for()
        lab.get_by_role("button", name="heal").click()
        lab.locator(".hawb-links").wait_for(state="hidden")
