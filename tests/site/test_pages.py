"""Pages of the site: reproducible, with escaped names and no external addresses."""

from __future__ import annotations

import base64
import json
import re
import zlib

import pytest
from browser_pages import ROOT

from hawb.scenario.catalogue import Entry, catalogue
from hawb.site.build import build, size_bytes
from hawb.site.lesson_pages import LESSONS
from hawb.site.pages import index_page, played_story, replay_script, story_page
from hawb.site.replay import replay

FEW = ["unsynchronised-mirror-promoted", "quorum-leader-killed", "autoheal-who-wins"]
MOST_BYTES = 10_000_000


def test_small_site_is_reproducible(tmp_path):
    for folder in ("one", "two"):
        assert [one.entry.name for one in build(tmp_path / folder, FEW, processes=1, languages=("en",))] == FEW
    files = sorted(file.relative_to(tmp_path / "one") for file in (tmp_path / "one").rglob("*.*"))
    assert len(files) == len(FEW) + 8 + len(LESSONS)
    assert all((tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes() for file in files)


def test_pages_contain_no_external_address(tmp_path):
    build(tmp_path, FEW, processes=1, languages=("en",))
    for file in tmp_path.rglob("*.*"):
        found = set(re.findall(r"https?://[^\s\"'`)<]+", file.read_text("utf-8")))
        assert found <= {"http://www.w3.org/2000/svg", "http://127.0.0.1:8000"}, file


def test_page_contains_its_story():
    entry = Entry(ROOT / "data" / "scenarios" / f"{FEW[0]}.yaml", "Which mirror takes over", "#start-stop")
    played = replay(entry.file)
    page = story_page(entry, played)
    carried = re.search(r'id="story">([^<]+)<', page)[1]
    assert json.loads(zlib.decompress(base64.b64decode(carried))) == json.loads(json.dumps(played))
    assert "<li>kill a</li>" in page  # without any script, and the end only behind a click
    assert "100 messages of ha.orders are lost" in re.search("<details>.*</details>", page)[0]
    assert "RabbitMQ 3.10.8" in page


def test_names_are_escaped():
    played = replay(ROOT / "data" / "scenarios" / f"{FEW[0]}.yaml")
    played |= {"title": "<script>alert(1)</script>", "done": ["kill <b>"] * 8}
    entry = Entry(ROOT / "x.yaml", "<i>", '"><img>')
    for written in (story_page(entry, played), index_page([played_story(entry, played)])):
        assert not re.search(r"<script>|<b><|kill <b>|<i>|<img>", written)
        assert "&lt;i&gt;" in written and "&lt;script&gt;alert(1)&lt;/script&gt;" in written


def test_page_needs_no_engine():
    assert "class Menu" not in replay_script() and "class Picture" in replay_script()


@pytest.mark.full
def test_the_whole_site_is_small(tmp_path):
    stories = build(tmp_path)
    assert [one.entry for one in stories] == catalogue(ROOT / "data" / "scenarios")
    assert size_bytes(tmp_path) < MOST_BYTES
    assert {one.tone for one in stories} == {"lost", "harmed", "well"}
