"""Pages built by Sphinx and opened from files: links, search, light and dark."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser_pages import ROOT, chromium, faults, keep_picture
from conftest import LONG
from lesson_walks import OF_COLOURS

from hawb.docs.sources import write_all

pytestmark = pytest.mark.full

SPHINX = ROOT / "build" / "sphinx" / "bin" / "sphinx-build"
PATIENCE_S = 300
SHOWN = {"light": (1280, "light"), "phone": (400, "dark")}
CHECKED: dict[str, tuple[str, ...]] = {"light": (), "phone": () if LONG else OF_COLOURS}
"""The rules that axe checks on each page: all, if there are none."""
PAGES = ("index", "how-to/safe-to-stop", "explanation/model")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, unavailable: Callable[[str], object]) -> Path:
    """The documentation, built; a warning is an error."""
    if not SPHINX.exists():
        unavailable("Sphinx, which builds the documentation, is missing: make build/sphinx/installed")
    folder = tmp_path_factory.mktemp("docs")
    write_all(folder / "pages")
    assert sphinx(folder / "pages", folder / "built") == ""
    return folder / "built"


def sphinx(pages: Path, built: Path) -> str:
    """Builds pages; what Sphinx complains of."""
    command = [SPHINX, "-q", "-W", "--keep-going", pages, built]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode == 0) == (not done.stderr)
    return done.stderr


def test_broken_link_is_an_error(built: Path, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    for name in ("conf.py", "site.css", "look.json"):
        (pages / name).write_bytes((built.parent / "pages" / name).read_bytes())
    (pages / "index.md").write_text("# One\n\n[a](gone.md), [b](#nowhere)\n")
    complaints = sphinx(pages, tmp_path / "built")
    assert "gone.md" in complaints
    assert "nowhere" in complaints


def test_pages_fetch_nothing(built: Path) -> None:
    pages = [page.read_text("utf-8") for page in built.rglob("*.html")]
    assert len(pages) > 30
    from_elsewhere = ('src="http', 'rel="stylesheet" href="http', "@import")
    assert not [tag for text in pages for tag in from_elsewhere if tag in text]


@pytest.fixture
def opened(built: Path, in_browser: None) -> Iterator[Callable]:
    """A function that opens a page from its file; what went wrong in it is in its `wrong`."""
    with chromium() as browser:

        def page_of(name: str, how: str):
            width, scheme = SHOWN[how]
            page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            page.wrong = []
            page.on("pageerror", lambda error: page.wrong.append(str(error)))
            page.on("console", lambda said: said.type == "error" and page.wrong.append(said.text))
            page.on("request", lambda asked: asked.url.startswith("file:") or page.wrong.append(asked.url[:80]))
            page.goto((built / f"{name}.html").as_uri())
            return page

        yield page_of


@pytest.mark.browser
@pytest.mark.parametrize("how", SHOWN)
def test_pages_are_accessible(opened, how: str) -> None:
    for name in PAGES:
        page = opened(name, how)
        wrong = [*page.wrong]  # before the checker fetches what a page may not
        found = faults(page, rules=CHECKED[how])
        keep_picture(page, f"docs-{name.split('/')[-1]}-{how}")
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        page.close()
        assert (name, found) == (name, [])
        assert (name, over <= 0, wrong) == (name, True, [])


@pytest.mark.browser
def test_search_finds_pages_verbs_and_names_without_a_server(opened) -> None:
    page = opened("how-to/upgrade", "light")
    for asked, found in (("safe to stop", "Is it safe to stop a node?"), ("power_off", "power_off"),
                         ("what_would_have_kept", "hawb.Cluster.what_would_have_kept")):  # fmt: skip
        page.locator(".sidebar-search").fill(asked)
        page.locator(".sidebar-search").press("Enter")
        page.locator("#search-results li a", has_text=found).first.wait_for()
    page.locator("#search-results li a", has_text="what_would_have_kept").first.click()
    page.locator("dt", has_text="what_would_have_kept").first.wait_for()
    assert page.wrong == []
