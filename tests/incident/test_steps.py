"""Reconstruction of scenario steps from cluster events."""

from __future__ import annotations

import pytest
from made_up_story import event, occurred, us
from msgspec.structs import replace

from hawb.incident.doubts import OF_PLACES
from hawb.incident.node_runs import NodeRun
from hawb.incident.step_context import StepContext
from hawb.incident.steps import STEPS, sides_of
from hawb.scenario import verbs

IMPORTED = {"cluster": {"version": "3.10"}, "policies": [], "operator_policies": []}


def life(node: str, from_s: float, until_s: float | None, ended_by, seen_s: float) -> NodeRun:
    first = event(from_s, node, "node_starting")
    return NodeRun(node, us(from_s), None if until_s is None else us(until_s), ended_by, first, first, us(seen_s))


def timed_steps(found, lives=(), later=None, healed=False, **imported) -> list[tuple[float, object]]:
    context = StepContext(found, lives, IMPORTED | imported, later, healed)
    return [(round((step.at_us - us(0)) / 1e6, 2), step.verb) for one in found if one.kind in STEPS
            for step in STEPS[one.kind](context, one)]  # fmt: skip


def test_silent_node_lost_power_net_ticktime_before_detection():
    found = [replace(occurred(80, "node_killed", "a"), reason="net_tick_timeout")]
    assert timed_steps(found, [life("a", 0, 80, "killed", 3)]) == [(20.0, verbs.PowerOff(("a",)))]
    assert timed_steps(found, [life("a", 0, 80, "killed", 33)]) == [(33.0, verbs.PowerOff(("a",)))]


@pytest.mark.parametrize(("net_ticktime", "broke_s"), [(None, 50), (20, 60)])
def test_links_broke_after_the_last_contact_of_their_ends(net_ticktime, broke_s):
    """A file may give net_ticktime."""
    touched = replace(occurred(50, "mirror_added", "b", "q"), events=(event(50, "a", "mirror_added", peer="b"),))
    elsewhere = replace(occurred(70, "mirror_added", "c", "q"), events=(event(70, "a", "mirror_added", peer="c"),))
    apart = replace(occurred(80, "partition_begun", None), reason="net_tick_timeout", nodes=("a", "b"),
                    pairs=(("a", "b"),))  # fmt: skip
    cluster = IMPORTED["cluster"] | ({"net_ticktime": net_ticktime} if net_ticktime else {})
    assert timed_steps([touched, elsewhere, apart], cluster=cluster) == [(broke_s, verbs.Partition((("a",), ("b",))))]


def test_boot_step_is_timed_by_its_end():
    """The quickest boot took two seconds, this one five."""
    quick = replace(occurred(-50, "node_started", "b"), until_us=us(-48))
    slow = replace(occurred(40, "node_started", "a"), until_us=us(45))
    assert timed_steps([quick, slow], [life("a", 0, 30, "killed", 30)]) == [(43.0, verbs.Start(("a",)))]


@pytest.mark.parametrize("ended_by", ["paused", None])
def test_node_that_restarts_itself_needs_no_start_step(ended_by):
    lives = [life("a", 0, 30, ended_by, 30)] if ended_by else []
    assert not timed_steps([occurred(40, "node_started", "a")], lives)


def test_node_stopped_while_paused_needs_a_start_step():
    """The node pauses when the second of two nodes goes down, and an operator stops it then."""
    last = replace(life("a", 0, 30, "paused", 30), halted_us=us(35))
    found = [occurred(35, "node_stopped", "a"), occurred(40, "node_started", "a")]
    assert timed_steps(found, [last]) == [(35.0, verbs.Stop(("a",))), (40.0, verbs.Start(("a",)))]


BOOTS = occurred(60, "node_started", "a")


@pytest.mark.parametrize(
    ("found", "started"),
    [
        ([BOOTS], False),
        ([BOOTS, occurred(90, "node_waiting", "a")], True),
        ([replace(BOOTS, events=(*BOOTS.events, event(61, "b", "rabbit_up", peer="a")))], True),
    ],
)
def test_unfinished_boot_is_no_step(found, started):
    """Exceptions: it waits for other nodes, or they saw it running."""
    lives = [life("a", 0, 50, "stopped", 50), life("a", 60, None, None, 95)]
    assert timed_steps(found, lives) == ([(60.0, verbs.Start(("a",)))] if started else [])


def test_joining_node_is_neither_stopped_nor_started():
    found = [occurred(1, "node_started", "d"), occurred(4, "node_stopped", "d"), occurred(5, "node_joined", "d"),
             occurred(6, "node_started", "d")]  # fmt: skip
    assert timed_steps(found, [life("d", 1, 4, "stopped", 4)]) == [(5.0, verbs.Join("d"))]


def test_events_after_joining_and_booting_are_separate_steps():
    found = [occurred(5, "node_joined", "d"), occurred(6, "node_started", "d"), occurred(20, "node_stopped", "d"),
             occurred(30, "node_started", "d")]  # fmt: skip
    steps = timed_steps(found, [life("d", 1, 20, "stopped", 20)])
    assert steps == [(5.0, verbs.Join("d")), (20.0, verbs.Stop(("d",))), (30.0, verbs.Start(("d",)))]


@pytest.mark.parametrize(
    ("between", "others", "expected"),
    [
        # Nobody tells that it was forgotten: it was reset.
        ([], [], [verbs.Reset("a")]),
        ([occurred(35, "node_forgotten", "a", by="b")], [], [verbs.ForgetClusterNode("a", "b"), verbs.Wipe("a")]),
        # It left by itself, for its member of a quorum queue is missed.
        ([occurred(35, "node_forgotten", "a", by="b"), occurred(44, "member_anew", "a", "q")], [],
         [verbs.Reset("a")]),
        # b booted, though a had gone after it: b was told to forget a.
        ([occurred(35, "node_started", "b", until_us=us(36))], [life("b", -50, 20, "stopped", 20)],
         [verbs.ForgetClusterNode("a", "b", offline=True), verbs.Start(("b",)), verbs.Wipe("a")]),
    ],
)  # fmt: skip
def test_node_that_joins_again_was_forgotten_before(between, others, expected):
    found = [occurred(30, "node_stopped", "a"), *between, occurred(40, "node_started", "a"),
             occurred(41, "disk_lost", "a"), occurred(42, "node_stopped", "a"),
             occurred(43, "node_joined", "a")]  # fmt: skip
    lives = [life("a", 0, 30, "stopped", 30), life("a", 40, 42, "stopped", 42), *others]
    assert [step for _, step in timed_steps(found, lives)] == [verbs.Stop(("a",)), *expected, verbs.Join("a")]


def test_forgetting_a_node_removes_its_members():
    found = [occurred(1, "node_forgotten", "c", by="a"), occurred(1.2, "member_removed", "c", "q")]
    assert timed_steps(found) == [(1.0, verbs.ForgetClusterNode("c", "a"))]


def test_disk_is_lost_before_the_node_boots():
    found = [occurred(40, "node_started", "a"), occurred(41, "disk_lost", "a")]
    steps = timed_steps(found, [life("a", 0, 30, "killed", 30)])
    assert [type(verb) for _, verb in steps] == [verbs.Wipe, verbs.Start]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("a", "b"), ("a", "c")], verbs.Partition((("a",), ("b", "c")))),
        ([("a", "b"), ("a", "c"), ("b", "c")], verbs.Partition((("a",), ("b",), ("c",)))),
        ([("a", "b")], verbs.Partition((("a",), ("b",)))),
        ([("a", "b"), ("b", "c"), ("c", "d")], verbs.Cut((("a", "b"), ("b", "c"), ("c", "d")))),
    ],
)
def test_broken_links_become_partitions_or_cuts(pairs, expected):
    nodes = tuple(sorted({node for pair in pairs for node in pair}))
    found = [occurred(70, "partition_begun", pairs=tuple(pairs), nodes=nodes, reason="net_tick_timeout")]
    assert timed_steps(found) == [(10.0, expected)]


def test_indirectly_connected_nodes_are_one_side():
    assert sides_of("abcd", {("a", "d")}) == [("a", "b", "c", "d")]


def test_synchronisation_is_a_step_only_without_automatic_sync():
    found = [occurred(5, "synchronisation", "a", "q", reason="done", count=3)]
    policy = {"name": "p", "pattern": "^q", "definition": {"ha-mode": "all", "ha-sync-mode": "automatic"}}
    assert timed_steps(found) == [(5.0, verbs.SyncQueue("q"))]
    assert not timed_steps(found, policies=[policy])


def test_policy_has_the_definition_of_the_export():
    policy = {"name": "p", "pattern": "^q", "definition": {"ha-mode": "all"}}
    found = [occurred(5, "policy_set", name="p"), occurred(6, "policy_set", name="unknown")]
    assert timed_steps(found, policies=[policy]) == [(5.0, verbs.SetPolicy("p", "^q", {"ha-mode": "all"}))]


def test_operator_policies_are_set_too():
    policy = {"name": "p", "pattern": "^q", "definition": {"max-length": 4}}
    found = [occurred(5, "policy_set", name="p")]
    step = verbs.SetOperatorPolicy("p", "^q", {"max-length": 4})
    assert timed_steps(found, operator_policies=[policy]) == [(5.0, step)]


def test_last_policy_of_a_name_has_the_later_definition():
    before, after = ({"name": "p", "pattern": pattern, "definition": {"ha-mode": "all"}} for pattern in ("^q", "^r"))
    found = [occurred(5, "policy_set", name="p"), occurred(6, "policy_set", name="p")]
    patterns = [step.pattern for _, step in timed_steps(found, policies=[before], later={"policies": [after]})]
    assert patterns == ["^q", "^r"]


@pytest.mark.parametrize("healed", [False, True])
def test_autoheal_restart_is_a_step_if_followed(healed):
    found = [occurred(30, "autoheal", "b", nodes=("a",)), occurred(31, "node_paused", "a", name="autoheal"),
             occurred(35, "node_started", "a"), occurred(40, "node_paused", "a", name="pause"),
             occurred(45, "node_started", "a")]  # fmt: skip
    lives = [life("a", 0, 31, "paused", 31), life("a", 35, 40, "paused", 40)]
    restarted = [(31.0, verbs.Stop(("a",))), (35.0, verbs.Start(("a",)))]
    assert timed_steps(found, lives, healed=healed) == (restarted if healed else [])


@pytest.mark.parametrize(
    ("others", "verb"),
    [
        ([life("b", -50, 30, "stopped", 30)], verbs.ForceBoot("a")),  # b ran when a had gone, and does not run now
        ([life("b", -50, 5, "stopped", 5)], verbs.Start(("a",))),  # a was the last
        ([life("b", -50, None, None, 90)], verbs.Start(("a",))),  # b runs
    ],
)  # fmt: skip
def test_node_that_did_not_wait_at_boot_was_forced(others, verb):
    found = [replace(occurred(40, "node_started", "a"), until_us=us(41))]
    lives = [life("a", -50, 20, "stopped", 20), *others]
    assert [step for _, step in timed_steps(found, lives)] == [verb]
    assert [step for _, step in timed_steps(found, lives, cluster={"version": "4.3"})] == [verbs.Start(("a",))]


def test_force_boot_is_assumed():
    """It may also have forgotten the other nodes while it was down."""
    found = [replace(occurred(40, "node_started", "a"), until_us=us(41))]
    runs = [life("a", -50, 20, "stopped", 20), life("b", -50, 30, "stopped", 30)]
    context = StepContext(found, runs, IMPORTED, None, False)
    assert [step.verb for step in STEPS["node_started"](context, found[0])] == [verbs.ForceBoot("a")]
    assert [(doubt.kind, doubt.node) for doubt in context.doubts] == [("forced_boot", "a")]
    assert "forced_boot" in OF_PLACES


def promoted(*before):
    return [*before, occurred(40, "mirrors_missed", "c", "q", name="mirror", nodes=("a",)),
            occurred(40.1, "mirror_promoted", "b", "q")]  # fmt: skip


@pytest.mark.parametrize(
    ("found", "end", "crashed"),
    [
        (promoted(), None, True),
        (promoted(), (40, "killed"), False),  # its node went
        (promoted(occurred(35, "node_drained", "a")), None, False),  # it was given away
        (promoted(occurred(39, "mirror_dropped", "a", "q")), None, False),
        ([*promoted(), occurred(42, "mirrors_missed", "b", "q", name="master", nodes=("d",))], None, True),  # another
        ([*promoted(), occurred(41, "mirror_dropped", "a", "q")], None, True),  # only afterwards
        ([occurred(40.1, "mirror_promoted", "b", "q")], None, False),  # no mirror reports that the master is gone
    ],
)  # fmt: skip
def test_master_that_ends_on_a_running_node_has_crashed(found, end, crashed):
    lives = [life("a", -50, *(end or (None, None)), 40 if end else 90), life("b", -50, None, None, 90)]
    assert ((40.1, verbs.Crash("q")) in timed_steps(found, lives)) is crashed


@pytest.mark.parametrize("again", ["a", "d"])
def test_dropped_master_that_is_a_mirror_again_was_moved(again):
    """A policy that drops the master would not add it as a mirror."""
    found = [*promoted(occurred(40, "mirror_dropped", "a", "q")), occurred(40.2, "mirror_added", again, "q")]
    lives = [life(node, -50, None, None, 90) for node in "abd"]
    assert timed_steps(found, lives) == ([(40.1, verbs.TransferLeadership("q", "b"))] if again == "a" else [])


def test_master_that_crashes_just_before_its_node_has_crashed():
    lives = [life("a", -50, 50, "stopped", 50), life("b", -50, None, None, 90)]
    assert timed_steps(promoted(occurred(38, "mirror_dropped", "d", "q")), lives) == [(40.1, verbs.Crash("q"))]


@pytest.mark.parametrize("forgotten", [True, False])
def test_forgotten_node_is_reset_before_it_joins_again(forgotten):
    found = [occurred(20, "node_forgotten", "a", by="b")] * forgotten
    found += [occurred(39, "node_reset", "a"), occurred(40, "node_joined", "a")]
    before = [(20.0, verbs.ForgetClusterNode("a", "b")), (39.0, verbs.Reset("a"))] if forgotten else []
    assert timed_steps(found, [life("a", -50, 10, "stopped", 10)]) == [*before, (40.0, verbs.Join("a"))]


def test_last_declared_queue_has_the_arguments_of_the_later_listing():
    found = [occurred(at_s, "queue_declared", "a", "q", count=3) for at_s in (5, 9)]
    later = {"queues": [{"queue": "q", "arguments": {"x-max-length": 9, "x-quorum-initial-group-size": 5}}]}
    formed = {"x-queue-type": "quorum", "x-quorum-initial-group-size": 3}
    assert [step.arguments for _, step in timed_steps(found, later=later)] == [formed, {"x-max-length": 9} | formed]
