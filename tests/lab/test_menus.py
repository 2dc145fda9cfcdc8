"""The menus of nodes, queues and the cluster: entries by state, and that each entry can be played."""

from __future__ import annotations

import random
import re
from html import unescape

import pytest
from lab_widgets import ask, node_of, on_node, on_queue, page_text, panel, row_of
from samples import sample

from hawb.lab.history import Point
from hawb.lab.leads import suggestions
from hawb.lab.menus import ALL_MORE, NODE, QUEUE, Entry, argument_of
from hawb.lab.menus import offered as offered_now
from hawb.rules.profiles import PROFILES
from hawb.scenario.load import read_scenario, read_step
from hawb.scenario.run import Run

NODES = "abc"


def offered(lab, menu: str, name: str) -> list[str]:
    """Return what the menu of a node or a queue offers now, in the order in which it is read."""
    offers = lab.stage.view["offers"]
    now = offers["lists"][offers[menu][name]]
    return [one["entry"] for group in lab.stage.menus[menu] for one in group["entries"] if one["entry"] in now]


def opened(version: str, *steps: dict) -> Run:
    """Return a run of the steps of a story of three nodes."""
    cluster = {"nodes": [*NODES], "version": version}
    return Run.of(read_scenario({"scenario": "s", "cluster": cluster, "steps": [*steps]}))


def after(run: Run, menu: str, name: str) -> list[str]:
    """Return what the menu of a node or a queue offers after a run, in the order in which it is read."""
    offers = offered_at(run)
    return offers["lists"][offers[menu][name]]


QUORUM_QUEUE = {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}}


def test_node_menu_offers_entries_for_its_state(lab):
    assert offered(lab, "node", "a")[:3] == ["stop", "kill", "power off"]
    assert not {"start", "force boot", "join", "reset", "forget"} & set(offered(lab, "node", "a"))
    assert offered(lab, "node", "c")[0] == "start"
    assert not {"stop", "kill", "drain", "memory alarm"} & set(offered(lab, "node", "c"))


def test_reverse_operation_is_offered_after_the_operation(lab):
    healthy = set(offered(lab, "node", "a"))
    assert not {"revive", "memory alarm is over", "disk alarm is over", "grow all quorum queues"} & healthy
    on_node(lab, "a", "drain")
    assert "revive" in offered(lab, "node", "a")
    assert not {"drain", "declare a queue here…"} & set(offered(lab, "node", "a"))
    on_node(lab, "a", "revive")
    on_node(lab, "a", "disk alarm")
    assert "disk alarm is over" in offered(lab, "node", "a")
    assert "disk alarm" not in offered(lab, "node", "a")
    on_node(lab, "c", "start")
    on_node(lab, "b", "shrink all quorum queues")
    assert "grow all quorum queues" in offered(lab, "node", "b")
    assert "shrink all quorum queues" not in offered(lab, "node", "b")


def test_heal_is_offered_while_a_link_is_cut_only(lab):
    def heals() -> bool:
        offers = lab.stage.view["offers"]
        return "heal" in offers["lists"][offers["more"]]

    assert not heals()
    on_node(lab, "a", "cut off from all other nodes")
    assert heals()
    assert "cut off from all other nodes" not in offered(lab, "node", "a")


@pytest.mark.parametrize(
    ("version", "stands_alone", "force_boots", "forces_reset", "forces_shrink"),
    [
        ("3.8", False, True, True, False), ("3.10", False, True, True, False), ("3.13", False, True, True, True),
        ("4.0", False, True, True, True), ("4.3", True, False, False, True),
    ],
)  # fmt: skip
def test_command_is_offered_by_releases_that_have_it(
    version, stands_alone, force_boots, forces_reset, forces_shrink
):
    """Sources: `rabbit_khepri:force_shrink_member_to_current_member` (4.x with Khepri), `rabbit_db:force_reset` and
    `force_load_on_next_boot`, `rabbit_quorum_queue:force_all_queues_shrink_member_to_current_member` (3.12)."""
    last_one = opened(version, QUORUM_QUEUE, {"kill": ["a", "b"]})
    assert ("stand alone" in after(last_one, "node", "c")) is stands_alone
    assert ("shrink all quorum queues to this node by force" in after(last_one, "node", "c")) is forces_shrink
    all_down = opened(version, {"stop": "a"}, {"stop": "b"}, {"stop": "c"})
    assert ("force boot" in after(all_down, "node", "a")) is force_boots
    assert "force boot" not in after(all_down, "node", "c")  # it was the last to stop and waits for nobody
    assert ("force reset" in after(all_down, "node", "a")) is forces_reset


def test_node_outside_the_cluster_is_offered_join_and_not_start():
    left = opened("3.10", {"stop": "c"}, {"reset": "c"})
    assert after(left, "node", "c") == ["join"]
    forgotten = opened("3.10", {"stop": "c"}, {"forget_cluster_node": {"node": "c"}})
    assert after(forgotten, "node", "c") == ["reset", "force reset", "wipe"]


def test_entries_are_grouped_with_dangerous_ones_last(lab):
    for menu in ("node", "queue"):
        groups = [group["group"] for group in lab.stage.menus[menu]]
        assert len(groups) == len(set(groups)) > 2
        assert groups[-1].startswith("dangerous")
    last = {one["entry"] for one in lab.stage.menus["node"][-1]["entries"]}
    assert {"wipe", "reset", "force reset", "force boot", "stand alone", "forget"} < last
    assert {one["entry"] for one in lab.stage.menus["queue"][-1]["entries"]} == {"crash", "purge", "delete"}


def test_queue_menu_offers_operations_of_its_type(lab):
    assert {"sync", "publish 10", "policy…"} <= set(offered(lab, "queue", "ha.orders"))
    assert "remove a member…" in offered(lab, "queue", "qq.orders")
    assert not {"sync", "cancel sync", "add a member…"} & set(offered(lab, "queue", "qq.orders"))
    assert not {"sync", "cancel sync", "move the master or leader…"} & set(offered(lab, "queue", "plain.log"))
    on_queue(lab, "ha.orders", "sync")
    assert "sync" not in offered(lab, "queue", "ha.orders")
    on_queue(lab, "plain.log", "delete")
    assert offered(lab, "queue", "plain.log") == ["declare", "declare another…"]
    stream = opened("3.10", {"declare": {"queue": "s", "node": "a", "arguments": {"x-queue-type": "stream"}}})
    assert not {"get 10", "consume…", "crash", "purge", "move the master or leader…"} & {*after(stream, "queue", "s")}


@pytest.mark.parametrize("version", sample(PROFILES, 2))
def test_offered_entries_are_accepted_or_their_refusal_is_shown(lab, version):
    """Walk through clusters by entries of menus, and play each entry, and each suggestion, that is offered on the way.
    What the engine has no rules for is never offered."""
    chance, run = random.Random(version), busy(version)
    for _ in range(8):
        if chance.random() < 0.3:
            run.apply_plain({"wait": 80})
        lab.controller.now = Point(run, opened=True)
        lab.redraw()
        for one in suggestions(lab.controller, lab.stage.view["offers"]):
            assert play(run, {one["verb"]: one["argument"]})[1] == "", (run.steps, one)
        moves = [
            move for menu, entries in (("node", NODE), ("queue", QUEUE)) for move in moves_of(lab, run, menu, entries)
        ]
        if not moves:
            break
        run = chance.choice(moves)


def busy(version: str) -> Run:
    """Return a cluster of three nodes with each type of queue that a release has."""
    steps = [{"declare": {"queue": "ha.q", "node": "a"}}, QUORUM_QUEUE, {"publish": {"queue": "q", "count": 5}}]
    if version != "3.8":
        steps.append({"declare": {"queue": "s", "node": "c", "arguments": {"x-queue-type": "stream"}}})
    policies = [] if version.startswith("4") else [{"name": "ha", "pattern": "^ha", "definition": {"ha-mode": "all"}}]
    cluster = {"nodes": [*NODES], "version": version}
    return Run.of(read_scenario({"scenario": "s", "cluster": cluster, "policies": policies, "steps": steps}))


def moves_of(lab, run: Run, menu: str, entries: dict[str, Entry]) -> list[Run]:
    """Open each menu of a kind, play what each offers at once, and compare with what the menu says; return the runs
    that go on by what can be chosen."""
    offers, found = lab.stage.view["offers"], []
    for name, place in offers[menu].items():
        ask(lab, "menu", menu=menu, name=name)
        said = lab.stage.view["refused"]["entries"]
        for label in offers["lists"][place]:
            if entries[label].argument is not None:
                step = {entries[label].verb: argument_of(entries[label], name, NODES)}
                then, text = play(run, step)
                assert bool(text) == (label in said), (run.steps, step, text)
                assert not text or text in unescape(said[label]["text"])
                assert "not simulated" not in text
                if not text or said[label]["can_be_chosen"]:
                    found.append(then)
    return found


def play(run: Run, step: dict) -> tuple[Run, str]:
    """Return a run that goes on by a step, and what the broker refuses of that."""
    then = run.copy()
    then.apply_plain(step)
    refusals = (refusal.text for refusal in then.moment().refusals if refusal.step == len(run.steps))
    return then, "\n".join(refusals)


def offered_at(run: Run) -> dict:
    """Return what menus offer where a run stands."""
    moment = run.moment()
    return offered_now(moment, run.settings, [*moment.state.queues, "gone"])


STREAM = {"declare": {"queue": "s", "node": "a", "arguments": {"x-queue-type": "stream"}}}


@pytest.mark.parametrize("version", ["3.10", "3.13", "4.0", "4.3"])
def test_forget_is_not_offered_if_the_stream_coordinator_would_fail_it(lab, version):
    run = opened(version, STREAM, {"kill": ["b", "c"]})
    lab.controller.now = Point(run, opened=True)
    lab.redraw()
    ask(lab, "menu", menu="node", name="c")
    said = lab.stage.view["refused"]
    assert (said["menu"], said["name"]) == ("node", "c")
    forgets = "forget" in offered(lab, "node", "c")
    if version == "3.10":  # it leaves replicas on record, and asks no coordinator
        assert forgets and "forget" not in said["entries"]
    elif forgets:
        assert "oordinator" in said["entries"]["forget"]["text"]
        assert not said["entries"]["forget"]["can_be_chosen"]


def test_each_entry_is_a_valid_step_or_opens_a_form(lab):
    for label, entry in [*NODE.items(), *QUEUE.items(), *ALL_MORE.items()]:
        if entry.panel:
            assert entry.panel in lab.drawer.panels
        elif entry.argument is None:
            lab.open_form(entry.verb)
            assert lab.step.verb.value == entry.verb
        else:
            step = {entry.verb: entry.argument("a", ["b", "c"])}
            assert read_step(step, ["a", "b", "c"]).name == entry.verb, label


def test_refusal_is_shown_on_the_page(lab):
    on_node(lab, "c", "join")
    assert "RabbitMQ refused join" in unescape(page_text(lab))


def test_queue_operations_apply_to_the_queue_of_the_menu(lab):
    for entry in ("publish 10", "sync", "get 10", "purge", "delete"):
        on_queue(lab, "ha.orders", entry)
    assert lab.controller.outcome["deleted"] == ["ha.orders"]
    assert row_of(lab, "ha.orders")["type"] == "gone"
    on_queue(lab, "ha.orders", "declare")
    assert lab.controller.outcome["queues"]["ha.orders"]["messages"] == 0
    assert lab.controller.queue == "ha.orders"


def test_entry_that_needs_arguments_opens_a_prefilled_form(lab):
    on_queue(lab, "qq.orders", "add a member…")
    assert (lab.drawer.name, lab.step.verb.value) == ("Any step", "add_member")
    assert lab.step.form.inputs["queue"].widget.value == "qq.orders"
    on_node(lab, "b", "declare a queue here…")
    assert lab.step.form.inputs["node"].widget.value == "b"
    on_queue(lab, "ha.orders", "policy…")
    assert lab.drawer.name == "Policy"


def test_partition_shows_two_sides_until_healed(lab):
    on_node(lab, "a", "cut off from all other nodes")
    scene = lab.stage.view["scene"]
    assert (scene["sides"], scene["noticed"], scene["cut"]) == ([["a"], ["b", "c"]], False, [["a", "b"], ["a", "c"]])
    lab.controller.act("wait", 100)
    lab.redraw()
    assert lab.stage.view["scene"]["noticed"]
    assert [row["queue"] for row in lab.stage.view["scene"]["rows"]] == sorted(lab.controller.outcome["queues"])
    assert [(one["by"], one["state"]) for one in row_of(lab, "plain.log")["views"]] == [
        ("a and c", "running"), ("b", "down"),
    ]  # fmt: skip
    ask(lab, "more", entry="heal")
    assert lab.stage.view["scene"]["cut"] == []


def test_drawn_line_partitions_groups_or_cuts_links(lab):
    ask(lab, "part", groups=[["a", "b"], ["c"]])
    assert lab.controller.cut_links == [("a", "c"), ("b", "c")]
    ask(lab, "undo")
    ask(lab, "part", links=[["a", "b"]])
    assert lab.controller.cut_links == [("a", "b")]


def test_partition_form_is_in_the_cluster_menu(lab):
    ask(lab, "more", entry="partition…")
    assert lab.step.verb.value == "partition"
    lab.step.play.click()
    assert lab.controller.cut_links == [("a", "b"), ("a", "c")]


def test_alarm_is_shown_at_its_node(lab):
    on_node(lab, "b", "memory alarm")
    assert node_of(lab, "b")["trouble"] == ["memory alarm"]
    on_node(lab, "b", "memory alarm is over")
    assert node_of(lab, "b")["trouble"] == []


def test_nodes_show_whether_they_are_safe_to_stop_when_asked(lab):
    assert lab.stage.view["bar"]["forecasts"] == {}
    ask(lab, "more", entry="safe to stop?")
    found = {one["way"]: one for one in lab.stage.view["bar"]["forecasts"]["a"]}
    assert (found["stop"]["mark"], found["kill"]["mark"]) == ("◌ outage", "▼ loss")
    assert "ha.orders loses 100 messages" in found["kill"]["told"]
    assert "c" not in lab.stage.view["bar"]["forecasts"]
    assert "check_if_node_is_mirror_sync_critical: fails for ha.orders" in page_text(lab)
    panel(lab, "Safe?").beside.value = False
    assert lab.stage.view["bar"]["forecasts"] == {}


def test_load_panel_shows_the_load_of_each_node(lab):
    ask(lab, "more", entry="load")
    table = panel(lab, "Load").table
    assert "a has the most masters and leaders: it leads 4 of 4 queues." in table.value
    on_node(lab, "a", "kill")
    assert "b has the most masters and leaders: it leads 2 of" in table.value


def test_grow_and_shrink_apply_to_all_quorum_queues(lab):
    on_node(lab, "c", "shrink all quorum queues")
    assert lab.controller.outcome["queues"]["qq.orders"]["members"] == ["a", "b"]
    lab.controller.act("start", "c")
    on_node(lab, "c", "grow all quorum queues")
    assert lab.controller.outcome["queues"]["qq.orders"]["members"] == ["a", "b", "c"]


def test_declare_form_suggests_a_quorum_queue(lab):
    lab.open_form("declare")
    assert '{"x-queue-type": "quorum"}' in lab.step.form.inputs["arguments"].widget.options


def test_text_about_an_undetected_cut_link_contains_no_markup(lab):
    on_node(lab, "a", "cut off from all other nodes")
    assert not re.search(r"<\w", page_text(lab))
