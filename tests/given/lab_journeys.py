"""What a person does with the lab on a page, wherever it is served."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from browser_pages import ROOT, keep_picture

from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

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


def lay_out(folder: Path) -> Path:
    """Lays `folder` out as the repository is, with the lab's notebook, the app's settings and a scenario; itself."""
    (folder / "notebooks").mkdir()
    for name in ("00-lab.ipynb", "voila.json"):
        shutil.copy(ROOT / "notebooks" / name, folder / "notebooks")
    (folder / "data" / "scenarios").mkdir(parents=True)
    (folder / "data" / "scenarios" / "late.yaml").write_text(SCENARIO)
    return folder


def open_story(page):
    """Opens the scenario, the last in the list; the lab. (The first entry, what is open, may have the same name.)"""
    lab = page.locator(".hawb-lab")
    scenarios = lab.get_by_label("scenario")
    last = scenarios.locator("option:last-child", has_text="A mirror that came late")
    scenarios.select_option(index=last.evaluate("option => option.index"))
    lab.get_by_text("5 of 5", exact=True).wait_for()
    lab.locator(".hawb-matrix").get_by_text("ha.late", exact=True).wait_for()
    return lab


def node(page, name: str):
    """The head of a node, with its buttons."""
    return page.locator(".hawb-node").filter(has=page.get_by_text(name, exact=True))


def read_a_loss_and_part_the_nodes(page) -> None:
    """Kills the master, reads the loss, takes it back, declares a quorum queue, sees a partition from both sides."""
    lab, master = open_story(page), node(page, "a")
    master.get_by_role("button", name="kill").click()
    lab.get_by_text("7 messages lost: why?").click()
    cause = lab.locator("details p").first
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


def keep_them_and_branch(page, picture: str, keep: Callable[[object], Path]) -> None:
    """Sets a policy that would keep the messages, kills and stops the master, goes back to before the policy, kills
    there, keeps that story as the file that `keep` makes, and plays the rest of it."""
    lab, master = open_story(page), node(page, "a")
    story = lab.locator(".hawb-story")
    taken_over = story.get_by_text("b, a synchronised mirror, took over ha.late from a")
    lab.get_by_label("ha-sync-mode", exact=True).select_option(label="automatic")
    lab.get_by_role("button", name="set policy", exact=True).click()
    lab.get_by_text("6 of 6", exact=True).wait_for()
    story.get_by_text("The mirror of ha.late on b was sent everything and is synchronised.").wait_for()
    master.get_by_role("button", name="kill").click()
    taken_over.wait_for()
    assert lab.get_by_text("lost: why?").count() == 0
    lab.get_by_role("button", name="undo").click()
    taken_over.wait_for(state="detached")
    master.get_by_role("button", name="stop").click()
    taken_over.wait_for()
    keep_picture(lab, f"{picture}-kept")
    for place in ("6 of 7", "5 of 7"):
        lab.get_by_role("button", name="◀ step").click()
        lab.get_by_text(place, exact=True).wait_for()
    master.get_by_role("button", name="kill").click()
    lab.get_by_text("6 of 8", exact=True).wait_for()
    lab.get_by_text("7 messages lost: why?").click()
    lab.locator("details p").first.wait_for()
    keep_picture(lab, f"{picture}-branched")
    told = outcome(Run.of(load(keep(lab))))
    assert told["ledger"]["ha.late"]["lost_confirmed"] == 7
    assert (told["queues"]["ha.late"]["master"], told["queues"]["ha.late"]["messages"]) == ("b", 3)
    lab.get_by_role("button", name="▶ play").click()
    lab.get_by_text("8 of 8", exact=True).wait_for()


def save(lab, folder: Path) -> Path:
    """Saves the story beside the notebook; the file."""
    lab.get_by_placeholder("my-outage.yaml").fill("branch")
    lab.get_by_placeholder("my-outage.yaml").press("Enter")
    lab.get_by_role("button", name="save", exact=True).click()
    lab.get_by_text("saved as branch.yaml").wait_for()
    return folder / "notebooks" / "branch.yaml"


def download(page, lab, kind: str) -> Path:
    """Downloads the story; the file that the browser keeps."""
    lab.get_by_role("tab", name="Export").click()
    lab.get_by_role("button", name=kind, exact=True).click()
    link = lab.locator(".hawb-export a[download]")
    with page.expect_download() as downloading:
        link.click()
    assert downloading.value.suggested_filename == link.get_attribute("download")
    return Path(downloading.value.path())


def put_beside_and_take_away(page, folder: Path, picture: str) -> None:
    """Puts another policy beside the story, kills the master, sees what each node had to do, and opens the report that
    it downloads in a page of its own, which asks for nothing."""
    lab = open_story(page)
    lab.get_by_label("queue", exact=True).fill("ha.late")
    lab.get_by_label("queue", exact=True).press("Enter")
    lab.get_by_role("tab", name="Beside").click()
    lab.get_by_label("another", exact=True).select_option(label="ha.late: ha-sync-mode: automatic")
    lab.get_by_text("alike in both").wait_for()
    node(page, "a").get_by_role("button", name="kill").click()
    lab.locator(".hawb-beside-panel").get_by_text("7 (7)").wait_for()
    keep_picture(lab, f"{picture}-beside")
    lab.get_by_role("tab", name="Load").click()
    lab.get_by_text("b serves most: 1 of 1 queue.").wait_for()
    keep_picture(lab, f"{picture}-load")
    file = download(page, lab, "report")
    keep_picture(lab, f"{picture}-export")
    report, asked = page.context.browser.new_page(), []
    report.on("request", lambda request: asked.append(request.url))
    shown = folder / "report.html"
    shown.write_bytes(file.read_bytes())
    report.goto(shown.as_uri())
    report.locator("section p").get_by_text("Messages 1 to 7 of ha.late were lost").wait_for()
    keep_picture(report, f"{picture}-report")
    assert asked == [shown.as_uri()]
    report.close()
