"""Sequences of actions on the lab's page, wherever it is served."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from browser_pages import faults, keep_picture
from kept_pictures import compare
from lab_controls import (
    at_step,
    back_to,
    choose,
    choose_by_keys,
    close,
    has_focus,
    log_line,
    more,
    node,
    open_story,
    queue,
    tab_to,
    verdict,
)

from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

PANELS = (
    "safe to stop?", "what if", "beside", "policy…", "any step…", "clients", "wait…", "story", "ledger", "queues",
    "load", "your own cluster…", "export…",
)  # fmt: skip
"""What opens from the menu of what else there is."""

PICTURED = ("policy…", "what if", "story")
"""Those that are pictured."""


def look_everywhere(page, picture: str, panels: Sequence[str] = PANELS) -> None:
    """Open each state and these panels of the lab, check them with axe and store a picture of each."""
    lab = open_story(page)
    found = {"opened": faults(page, ".hawb-lab")}
    node(lab, "a").click()
    found["menu"] = faults(page, ".hawb-lab")
    lab.get_by_role("menuitem", name="kill").click()
    lab.get_by_role("button", name="try ha-sync-mode: automatic").wait_for()
    lab.locator(".hs-caption:empty").wait_for(state="attached")
    found["lost"] = faults(page, ".hawb-lab")
    keep_picture(lab, f"{picture}-lost")
    for entry in panels:
        more(lab, entry)
        lab.locator(".hawb-drawer").wait_for()
        found[entry] = faults(page, ".hawb-lab")
        keep_picture(lab, f"{picture}-{entry.strip('?…').replace(' ', '-')}")
        close(lab)
    lab.get_by_role("button", name="undo").click()
    verdict(lab, "Nothing is lost")
    choose(lab, node(lab, "a"), "cut off from all other nodes")
    lab.get_by_text("links down").wait_for()
    found["parted"] = faults(page, ".hawb-lab")
    lab.get_by_role("button", name="undo").click()
    failing = {state: item for state, item in found.items() if item}
    assert failing == {}, failing


def read_a_loss_and_part_the_nodes(page) -> None:
    """Kills the master, reads the loss and what would have kept it, takes it back, declares a quorum queue, sees a
    partition from both sides."""
    lab = open_story(page)
    choose(lab, node(lab, "a"), "kill")
    verdict(lab, "7 messages of ha.late are lost, all of them confirmed")
    cause = lab.locator(".hs-why p:not(.hs-chip-told)").first
    assert "Messages 1 to 7 of ha.late were lost" in cause.inner_text()
    assert "not synchronised" in cause.inner_text()
    lab.get_by_role("button", name="try ha-sync-mode: automatic").wait_for()
    keep_picture(lab, "lab-lost")
    lab.get_by_role("button", name="undo").click()
    verdict(lab, "Nothing is lost, and every queue can be used.")
    choose(lab, node(lab, "a"), "declare a queue here…")
    form = lab.locator(".hawb-form")
    form.get_by_label("queue", exact=True).fill("votes")
    form.get_by_label("arguments", exact=True).fill('{"x-queue-type": "quorum"}')
    form.get_by_label("arguments", exact=True).press("Enter")
    lab.get_by_role("button", name="play this step").click()
    close(lab)
    queue(lab, "votes").click()
    lab.get_by_text("Raft log of votes").wait_for()
    page.keyboard.press("Escape")
    choose(lab, node(lab, "a"), "cut off from all other nodes")
    lab.get_by_text("links down").wait_for()
    lab.get_by_role("button", name="play", exact=False).first.click()
    lab.locator(".hs-gap", has_text="partition").wait_for()
    keep_picture(lab, "lab-parted")
    more(lab, "heal")
    log_line(lab, "All links work again.").wait_for()


def draw_a_line_and_watch_again(page) -> None:
    """Parts the nodes by a line through the network, stops the movement, plays it again, and takes it back."""
    lab = open_story(page)
    lab.scroll_into_view_if_needed()
    first, second = (node(lab, name).bounding_box() for name in "ab")
    x, y = (first["x"] + first["width"] + second["x"]) / 2, first["y"]
    page.mouse.move(x, y - 20)
    page.mouse.down()
    page.mouse.move(x, y + 60, steps=4)
    page.mouse.up()
    lab.get_by_text("links down").wait_for()
    log_line(lab, "From now on, the network passes nothing between a–b").wait_for()
    assert lab.locator(".hs-step").inner_text() == "partition"
    lab.get_by_role("button", name="undo").click()
    lab.get_by_text("links down").wait_for(state="detached")
    lab.locator(".hs-play", has_text="again").click()
    lab.locator(".hs-caption").get_by_text("Messages 8 to 10").wait_for()
    lab.locator(".hs-play", has_text="again").wait_for()


def lose_and_mend_by_keyboard(page) -> None:
    """Do the first minute without a mouse: a loss, its cause, another attempt, undo."""
    lab = open_story(page)
    keys = page.keyboard
    node(lab, "a").focus()
    keys.press("Enter")
    lab.get_by_role("menuitem", name="stop").wait_for()
    keys.press("ArrowDown")
    keys.press("Enter")
    verdict(lab, "7 messages of ha.late are lost")
    tried = lab.get_by_role("button", name="try ha-sync-mode: automatic")
    tried.wait_for()
    tried.focus()
    keys.press("Enter")
    verdict(lab, "Nothing is lost, and every queue can be used.")
    for _ in range(2):
        lab.get_by_role("button", name="undo").focus()
        keys.press("Enter")
    at_step(lab, 5, 5)
    lab.get_by_role("button", name="step back").focus()
    back_to(lab, 4, lambda: keys.press("Enter"))


def part_publish_and_set_a_policy_by_keyboard(page) -> None:
    """What else can be done, without a mouse: a partition, which is taken back, messages, a policy, and why one of the
    messages is where it is."""
    lab = open_story(page)
    keys = page.keyboard
    choose_by_keys(node(lab, "a"), "cut")
    lab.get_by_text("links down").wait_for()
    lab.get_by_role("button", name="undo").focus()
    keys.press("Enter")
    lab.get_by_text("links down").wait_for(state="detached")
    queue(lab, "ha.late").focus()
    keys.press("Enter")
    lab.get_by_role("menuitem", name="publish 10").wait_for()
    keys.press("Escape")
    has_focus(queue(lab, "ha.late"))
    keys.press("Enter")
    keys.press("Enter")
    log_line(lab, "Messages 11 to 20 were published to ha.late").wait_for()
    choose_by_keys(queue(lab, "ha.late"), "po")
    has_focus(lab.locator(".hawb-drawer button").first)
    tab_to(page, lab.get_by_label("ha-sync-mode", exact=True))
    keys.type("au")
    tab_to(page, lab.get_by_role("button", name="set policy", exact=True))
    keys.press("Enter")
    at_step(lab, 7, 7)
    keys.press("Escape")
    lab.locator(".hawb-drawer").wait_for(state="hidden")
    has_focus(queue(lab, "ha.late"))
    choose_by_keys(lab.get_by_role("button", name="more…"), "story")
    has_focus(lab.locator(".hawb-drawer button").first)
    tab_to(page, lab.get_by_label("why?", exact=True))
    keys.type("ha.late/11")
    keys.press("Enter")
    lab.locator(".hawb-story").get_by_text("ha.late/11").wait_for()
    keys.press("Escape")
    lab.locator(".hawb-drawer").wait_for(state="hidden")


def publish_and_ask_why(page) -> None:
    """Publish, kill, and ask about a lost message, with the mouse."""
    lab = open_story(page)
    choose(lab, queue(lab, "ha.late"), "publish 10")
    log_line(lab, "Messages 11 to 20 were published to ha.late").wait_for()
    choose(lab, node(lab, "a"), "kill")
    verdict(lab, "7 messages of ha.late are lost")
    more(lab, "story")
    lab.locator(".hawb-story summary", has_text="why").first.click()
    lab.locator(".hawb-story details[open]").get_by_text("not synchronised").first.wait_for()
    close(lab)


def picture_drawers(page) -> None:
    """Compare three panels after a loss, light and dark, with the stored pictures."""
    page.emulate_media(reduced_motion="reduce", color_scheme="light")
    lab = open_story(page)
    choose(lab, node(lab, "a"), "kill")
    lab.get_by_role("button", name="try ha-sync-mode: automatic").wait_for()
    wrong = []
    for entry in PICTURED:
        more(lab, entry)
        lab.locator(".hawb-drawer").wait_for()
        for light in ("light", "dark"):
            page.emulate_media(reduced_motion="reduce", color_scheme=light)
            name = f"lab-drawer-{entry.strip('…').replace(' ', '-')}-{light}"
            wrong.append(compare(name, lab.screenshot()))
        page.emulate_media(reduced_motion="reduce", color_scheme="light")
        close(lab)
    page.emulate_media(reduced_motion="no-preference")
    assert not any(wrong), "\n".join(filter(None, wrong))


def keep_them_and_branch(page, picture: str, keep: Callable[[object], Path]) -> None:
    """Sets a policy that would keep the messages, kills and stops the master, goes back to before the policy, kills
    there, keeps that story as the file that `keep` makes, and plays the rest of it."""
    lab = open_story(page)
    choose(lab, queue(lab, "ha.late"), "policy…")
    lab.get_by_label("ha-sync-mode", exact=True).select_option(label="automatic")
    lab.get_by_role("button", name="set policy", exact=True).click()
    at_step(lab, 6, 6)
    close(lab)
    choose(lab, node(lab, "a"), "kill")
    log_line(lab, "b, a synchronised mirror, took over ha.late from a").wait_for()
    verdict(lab, "Nothing is lost")
    lab.get_by_role("button", name="undo").click()
    log_line(lab, "took over").wait_for(state="detached")
    choose(lab, node(lab, "a"), "stop")
    log_line(lab, "b, a synchronised mirror, took over ha.late from a").wait_for()
    keep_picture(lab, f"{picture}-kept")
    for place in (6, 5):
        back_to(lab, place, lab.get_by_role("button", name="step back").click)
    choose(lab, node(lab, "a"), "kill")
    at_step(lab, 6, 8)
    verdict(lab, "7 messages of ha.late are lost")
    keep_picture(lab, f"{picture}-branched")
    found = outcome(Run.of(load(keep(lab))))
    assert found["ledger"]["ha.late"]["lost_confirmed"] == 7
    assert (found["queues"]["ha.late"]["master"], found["queues"]["ha.late"]["messages"]) == ("b", 3)
    close(lab)
    lab.locator(".hs-play", has_text="play").click()
    at_step(lab, 8, 8)


def save(lab, folder: Path) -> Path:
    """Save the story beside the notebook and return the file."""
    more(lab, "export…")
    lab.get_by_placeholder("my-outage.yaml").fill("branch")
    lab.get_by_placeholder("my-outage.yaml").press("Enter")
    lab.get_by_role("button", name="save", exact=True).click()
    lab.locator(".hawb-drawer").get_by_text("saved as branch.yaml").wait_for()
    return folder / "notebooks" / "branch.yaml"


def download(page, lab, kind: str) -> Path:
    """Download the story and return the file that the browser stores."""
    more(lab, "export…")
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
    choose(lab, queue(lab, "ha.late"), "compare with another…")
    lab.get_by_label("another", exact=True).select_option(label="ha.late: ha-sync-mode: automatic")
    lab.get_by_text("the same in both").wait_for()
    close(lab)
    choose(lab, node(lab, "a"), "kill")
    verdict(lab, "7 messages of ha.late are lost")
    more(lab, "beside")
    lab.locator(".hawb-beside-panel").get_by_text("7 (7)").wait_for()
    keep_picture(lab, f"{picture}-beside")
    close(lab)
    more(lab, "load")
    lab.get_by_text("b has the most masters and leaders: it leads 1 of 1 queue.").wait_for()
    keep_picture(lab, f"{picture}-load")
    close(lab)
    file = download(page, lab, "report")
    keep_picture(lab, f"{picture}-export")
    close(lab)
    report, asked = page.context.browser.new_page(), []
    report.on("request", lambda request: asked.append(request.url))
    shown = folder / "report.html"
    shown.write_bytes(file.read_bytes())
    report.goto(shown.as_uri())
    report.locator("section p").get_by_text("Messages 1 to 7 of ha.late were lost").wait_for()
    keep_picture(report, f"{picture}-report")
    assert asked == [shown.as_uri()]
    report.close()
