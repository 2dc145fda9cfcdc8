"""Downloads of the lab. A lab for visitors writes no files."""

from __future__ import annotations

import re
from base64 import b64decode
from html import unescape

import pytest
from lab_widgets import panel, parts

from hawb.lab import page
from hawb.lab.controller import Controller, Place
from hawb.lab.exports import KINDS, file_name, link
from hawb.lab.page import Lab
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run


def content(html: str) -> str:
    """Return the content that a link downloads."""
    return b64decode(re.search(r"base64,([^\"]*)\"", html)[1]).decode()


def test_download_contains_the_current_story():
    lab = Controller()
    lab.act("kill", "a")
    assert outcome(Run.of(load(content(link(lab.now, "scenario"))))) == lab.outcome
    assert "cluster.kill('a')" in content(link(lab.now, "Python"))
    assert "Messages 1 to 100 of ha.orders were lost" in unescape(content(link(lab.now, "report")))
    lab.look_at(0)
    assert "of ha.orders were lost" not in content(link(lab.now, "report"))


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("A stop, a kill", "a-stop-a-kill.yaml"),
        ("../../etc/passwd", "etc-passwd.yaml"),
        ('"><script>', "script.yaml"),
        ("\u05d0", "story.yaml"),
        ("x" * 300, "x" * 60 + ".yaml"),
    ],
)
def test_file_name_is_a_safe_form_of_the_title(title, name):
    assert file_name(title, "scenario") == name


def test_download_link_disappears_when_the_story_changes():
    lab = Lab(Controller())
    export = panel(lab, "Export")
    for kind, button in export.buttons.items():
        button.click()
        assert f'download="{file_name(lab.controller.outcome["scenario"], kind)}"' in export.links.value
        lab.redraw()
        assert KINDS[kind].suffix in export.links.value
    lab.controller.act("kill", "a")
    lab.redraw()
    assert "href" not in export.links.value


def test_visitors_lab_writes_no_file_and_has_no_save_field(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVER_SOFTWARE", "voila/0.5")
    lab = page.show()
    lab.controller.save(str(tmp_path / "x.yaml"))
    assert "nothing is written here" in lab.controller.messages[Place.SAVE]
    export = panel(lab, "Export")
    export.name.value = str(tmp_path / "x.yaml")
    export.save.click()
    assert list(tmp_path.iterdir()) == []
    assert export.save not in parts(lab)


def test_lab_in_a_notebook_saves_files(tmp_path, monkeypatch):
    monkeypatch.delenv("SERVER_SOFTWARE", raising=False)
    lab = page.show()
    lab.controller.save(str(tmp_path / "x.yaml"))
    assert (tmp_path / "x.yaml").is_file()
    assert panel(lab, "Export").save in parts(lab)
