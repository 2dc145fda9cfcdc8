"""The lab's stage without a browser: playback, the Raft log, and changes that prevent a loss."""

from __future__ import annotations

import json
import re

from lab_clusters import SPLIT_VOTES
from lab_widgets import NASTY, ask, on_node, on_queue, row_of

from hawb.lab import acting
from hawb.lab.controller import Controller
from hawb.lab.page import Lab
from hawb.lab.stage import FRONT, MODULES, LoneStage, front_end
from hawb.views import style

MOST_BYTES = 300_000
"""What the front end may weigh."""
OF_FILES = ("drop", "report")
"""Modules that only the panel for files and reports (`hawb.lab.own_files`) uses, beside those of the stage."""


def kinds(lab) -> list[str]:
    """Return the kinds of movements that the page receives."""
    return [one["kind"] for one in lab.stage.view["play"]["movements"]]


def test_step_is_animated_at_once_and_again_after_undo_and_redo(lab):
    on_node(lab, "a", "kill")
    play = lab.stage.view["play"]
    assert (play["at_once"], play["before"]) == (True, None)
    assert kinds(lab)[0] == "end" and "take_over" in kinds(lab) and "lose" in kinds(lab)
    ask(lab, "undo")
    assert (lab.stage.view["play"]["at_once"], kinds(lab)[0]) == (False, "end")
    assert lab.stage.view["play"]["before"]["nodes"][2]["state"] == "running"
    ask(lab, "redo")
    assert lab.stage.view["play"]["at_once"]


def test_step_back_shows_the_step_before(lab):
    ask(lab, "step back")
    assert lab.stage.view["bar"]["played"] == 14
    assert lab.stage.view["bar"]["next"] == "stop c"
    assert (lab.stage.view["play"]["at_once"], kinds(lab)[0]) == (False, "publish")
    ask(lab, "step forward")
    assert (lab.stage.view["bar"]["played"], lab.stage.view["play"]["at_once"]) == (15, True)


def test_change_of_the_past_is_not_animated(lab):
    lab.controller.set_seed("7")
    lab.redraw()
    assert not lab.stage.view["play"]["at_once"]


def test_choosing_a_queue_does_not_stop_the_animation(lab):
    on_node(lab, "a", "kill")
    ask(lab, "choose", queue="qq.orders")
    assert lab.stage.view["play"] is None


def test_play_on_plays_the_remaining_steps_then_lets_time_pass(lab):
    ask(lab, "step back")
    ask(lab, "play on", seconds=5)
    assert lab.stage.view["bar"]["played"] == 15
    before = lab.controller.now
    ask(lab, "play on", seconds=5)
    assert lab.controller.now is before  # nothing is due
    on_node(lab, "a", "cut off from all other nodes")
    since = lab.controller.outcome["time_s"]
    for _ in range(2):
        ask(lab, "play on", seconds=5)
        assert lab.stage.view["play"]["at_once"]
    assert lab.controller.outcome["time_s"] == since + 10
    assert lab.controller.now.run.steps[-1].verb.seconds == 10


def test_past_moment_can_be_viewed(lab):
    on_node(lab, "a", "kill")
    ask(lab, "look", position=2)
    bar = lab.stage.view["bar"]
    assert (bar["position"], kinds(lab), lab.stage.view["leads"]["verdict"]["tone"]) == (2, [], "well")
    assert [bar["moments"] - 1, "lost"] in bar["marks"]
    ask(lab, "look", position=bar["moments"] - 1)
    assert lab.stage.view["leads"]["verdict"]["tone"] == "lost"


def test_log_of_the_chosen_quorum_queue_follows_actions(lab):
    def term() -> int:
        return next(one["term"] for one in lab.stage.view["log"]["members"] if one["look"] == "leader")

    assert lab.stage.view["log"] is None
    ask(lab, "choose", queue="qq.orders")
    assert (lab.stage.view["log"]["title"], term()) == ("Raft log of qq.orders", 1)
    lab.controller.act("transfer_leadership", {"queue": "qq.orders", "node": "b"})
    lab.redraw()
    assert term() == 2
    ask(lab, "undo")
    assert term() == 1
    ask(lab, "choose", queue="ha.orders")
    assert lab.stage.view["log"] is None


def test_log_changes_with_the_movements_of_a_step(lab):
    ask(lab, "choose", queue="qq.orders")
    last = lab.stage.view["log"]["last"]
    on_queue(lab, "qq.orders", "publish 10")
    view = lab.stage.view
    kinds_of = {one["phase"]: one["kind"] for one in view["play"]["movements"]}
    assert [*kinds_of.values()] == ["publish", "confirm"]
    assert [log["last"] for log in view["logs"]] == [last, view["log"]["last"]]
    assert view["log"]["last"] > last
    ask(lab, "play on", seconds=5)
    ask(lab, "choose", queue="ha.orders")
    assert lab.stage.view["logs"] == []


def test_log_of_an_isolated_queue_changes_with_later_events(lab):
    lab.controller.act("start", "c")
    ask(lab, "choose", queue="qq.orders")
    on_node(lab, "a", "cut off from all other nodes")
    ask(lab, "play on", seconds=90)
    view = lab.stage.view
    terms = [max(member["term"] for member in log["members"]) for log in [*view["logs"], view["log"]]]
    assert terms == sorted(terms) and terms[0] < terms[-1]
    stands = [one["phase"] for one in view["play"]["movements"] if one["kind"] == "stand"]
    assert terms[stands[0] - 1] < terms[stands[0]]


def test_election_is_stopped_half_way_and_a_link_cut_there():
    lab = Lab(Controller(SPLIT_VOTES))
    play = lab.stage.view["play"]
    stands = [one for one in play["movements"] if one["kind"] == "stand"]
    ask(lab, "choose", queue="orders")
    assert [one["term"] for one in stands] == [2, 3]
    ask(lab, "look", position=play["moments"][stands[0]["phase"]])
    view = lab.stage.view
    assert [(one["kind"], one["routes"]) for one in view["play"]["still"]] == [
        ("stand", [["b", "c"]]), ("stand", [["c", "b"]]),
    ]  # fmt: skip
    assert [(member["role"], member["term"], member["vote"]) for member in view["log"]["members"]] == [
        ("leader", 1, "a"), ("candidate", 2, "b"), ("candidate", 2, "c"),
    ]  # fmt: skip
    ask(lab, "part", links=[["b", "c"]])
    kinds_now = kinds(lab)
    assert kinds_now[kinds_now.index("vote_lost") :][:2] == ["vote_lost", "no_majority"]
    assert lab.stage.view["play"]["still"] == []


def test_kill_makes_a_quorum_queue_unavailable_and_a_mirrored_one_lose_messages(lab):
    on_node(lab, "a", "kill")
    assert (row_of(lab, "ha.orders")["lost"], row_of(lab, "qq.orders")["lost"]) == (100, 0)
    assert (row_of(lab, "qq.orders")["state"], row_of(lab, "qq.orders")["online"]) == ("minority", "1/3")
    on_queue(lab, "qq.orders", "publish 10")
    # A new channel of 3.10 asks the node of the first leader, which is gone.
    assert lab.controller.outcome["ledger"]["qq.orders"]["nacked"] == [[111, 120]]


def test_changes_that_prevent_a_loss_are_listed_and_can_be_tried(lab):
    on_node(lab, "a", "kill")
    assert lab.stage.view["leads"]["now"]["by_itself"]
    ask(lab, "ask")
    now = lab.stage.view["leads"]["now"]
    assert not now["by_itself"]
    assert now["kept"][0]["what"] == "ha-sync-mode: automatic"
    assert now["kept"][0]["keeps"] == "keeps all: 100 messages"
    ask(lab, "try", number=0)
    assert lab.stage.view["leads"]["verdict"]["tone"] == "harmed"
    assert lab.controller.outcome["nodes"]["a"] == "down"


def test_changes_are_searched_only_while_the_loss_is_shown(lab, monkeypatch):
    later = []
    monkeypatch.setattr(acting, "soon", later.append)
    on_node(lab, "a", "kill")
    ask(lab, "undo")
    later.pop()()
    assert lab.controller.now.alternatives is None
    ask(lab, "redo")
    later.pop()()
    assert lab.stage.view["leads"]["now"]["kept"]


def test_suggested_actions_repair_the_cluster(lab):
    on_node(lab, "b", "kill")
    found = lab.stage.view["leads"]["now"]["next"]
    assert [one["label"] for one in found] == ["start b", "start c"]
    ask(lab, "suggested", **found[0])
    assert lab.controller.outcome["nodes"]["b"] == "running"
    assert {"label": "sync ha.orders", "verb": "sync_queue", "argument": "ha.orders"} in (
        lab.stage.view["leads"]["now"]["next"]
    )


def test_view_is_plain_json_whatever_the_names(lab):
    lab.controller.act("declare", {"queue": NASTY})
    lab.redraw()
    assert json.loads(json.dumps(lab.stage.view)) == lab.stage.view


def test_unknown_action_is_ignored(lab):
    before = lab.controller.now
    ask(lab, "format the disk")
    assert lab.controller.now is before


def test_front_end_is_small_and_uses_no_markup_or_network():
    css = (FRONT / "stage.css").read_text(encoding="utf-8")
    assert len(front_end().encode()) + len(css.encode()) < MOST_BYTES
    front = front_end() + "".join((FRONT / f"{name}.js").read_text(encoding="utf-8") for name in OF_FILES)
    for banned in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "fetch(",
        "http://",
        "https://",
    ):
        assert banned not in front.replace("http://www.w3.org/2000/svg", ""), banned
    assert {*MODULES, *OF_FILES} == {file.stem for file in FRONT.glob("*.js")}


def test_front_end_uses_only_the_colours_of_the_style():
    sheets = "".join(file.read_text(encoding="utf-8") for file in (FRONT / "stage.css", FRONT.parent / "lab.css"))
    front = front_end() + sheets
    assert re.findall(r"#[0-9A-Fa-f]{3,8}\b(?![-\w])", front) == []
    named = set(re.findall(r"var\(--hawb-([\w-]+)\)", front))
    assert named <= {*style.LIGHT, "font"}


def test_stage_alone_offers_only_immediate_actions(lab):
    stage = lab._display_()
    assert isinstance(stage, LoneStage)
    offered = [one["label"] for group in stage.menus["more"] for one in group["entries"]]
    assert offered == ["heal", "rebalance", "safe to stop?"]
    assert not [
        one
        for kind in ("node", "queue")
        for group in stage.menus[kind]
        for one in group["entries"]
        if one["label"].endswith("…")
    ]
    stage.receive({"do": "more", "entry": "safe to stop?"})
    stage.receive({"do": "node", "node": "a", "entry": "kill"})
    assert stage.view["bar"]["forecasts"] and stage.view["scene"]["nodes"][0]["state"] == "down"
