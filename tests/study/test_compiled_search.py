"""The compiled search agrees with the engine's: states, progress and stories.

Searches of a table, and others that are drawn: any cluster, wherever a few steps have led it, and any verbs. Mirrored
queues, classic queues of 4.3 and quorum queues are searched by three kernels, each of which takes a minute to compile.
`make test-full` takes one of them, another one each day, and all if their sources have changed (`of_kernels`).
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from conftest import LONG, SEED
from samples import of_kernels, of_the_day

from hawb.engine.core.moment import Moment
from hawb.planning import explore as room
from hawb.planning.explore import Progress, Question, explore, followers
from hawb.planning.goals import GOALS
from hawb.planning.moves import MOVES, Spent, instants, moves
from hawb.rules.profiles import PROFILES
from hawb.scenario.document import Step
from hawb.scenario.load import load, read_scenario
from hawb.scenario.run import Run
from hawb.scenario.verbs import Partition, Wipe
from hawb.study import compiled_search, moments
from hawb.study.compiled_search import Compiled, refused
from hawb.study.kernel import khepri_search, quorum_search, search, search_moves

pytestmark = [pytest.mark.kernel, pytest.mark.full]

SCENARIOS = Path(__file__).parents[2] / "data" / "scenarios"

CASES = 2_000 if LONG else 150
PART = 50
PARTS = range(CASES // PART)
"""Tests of a size that ends within pytest's limit for one."""
KERNELS = of_kernels(("mirrored", "classic", "quorum"))
"""The mark of each kernel's tests; `classic` is for classic queues of 4.3."""
KINDS = {"mirrored": "mirrored", "quorum": "quorum", "khepri": "quorum", "classic": "classic"}
"""The kinds of drawn searches, each with its kernel; `khepri` is for quorum queues of 4.3."""
QUORUM_RELEASES = ("3.8", "3.10", "3.13", "4.0", "4.3")
"""The releases whose quorum queues are searched compiled; the first three have mirrored queues."""
ALL = frozenset(MOVES)
NO_STOPS = ALL - {"stop", "kill", "power_off"}
PARTED = frozenset({"partition", "wait", "publish", "heal", "start"})
TWO = {"ha-mode": "exactly", "ha-params": 2}
WHEN_SYNCED = TWO | {"ha-promote-on-failure": "when-synced"}
QUORUM, THREE = {"x-queue-type": "quorum"}, {"x-quorum-initial-group-size": 3}
DEEPER = 2 if LONG else 1
"""How many faults, or operations, some searches take: the engine's take most of the time here."""
HANDLINGS = ("ignore", "autoheal", "pause_minority", {"pause_if_all_down": ["a"], "recover": "autoheal"})


def cluster(
    definition: dict, handling: object = "ignore", nodes: str = "abc", messages: int = 5, arguments: dict | None = None,
    seed: int = 0, **more,
) -> Run:  # fmt: skip
    """A queue with some messages on a cluster."""
    policies = [{"name": "p", "pattern": "^q", "definition": definition}] if definition else []
    steps = [{"declare": {"queue": "q", "node": "a", "arguments": arguments or {}}}]
    steps += [{"publish": {"queue": "q", "count": messages}}] if messages else []
    described = {"nodes": list(nodes), "version": "3.10", "cluster_partition_handling": handling} | more
    scenario = {"scenario": "x", "seed": seed, "cluster": described, "policies": policies, "steps": steps}
    return Run.of(read_scenario(scenario))


def by_engine(run: Run, question: Question) -> list[Progress]:
    return list(explore(run, question))


class Counted(Compiled):
    """A compiled search that counts the states whose next steps the engine plays."""

    handed_over = 0

    def _by_engine(self, *given):
        self.handed_over += 1
        return super()._by_engine(*given)

    def found(self, run: Run, question: Question) -> list[Progress]:
        return list(explore(run, question, self.expand, name=self.name))


def compiled(run: Run, question: Question) -> list[Progress]:
    """Search without the engine's help."""
    search = Counted(run, question)
    found = search.found(run, question)
    assert search.handed_over == 0
    return found


TABLE = {
    "mirrored": {
        **{f"partitions, {handling}": (lambda handling=handling: cluster(TWO, handling), "lost-confirmed", (1, 2),
                                       PARTED | {"kill"}) for handling in ("ignore", "autoheal", "pause_minority")},
        "the benchmark's": (lambda: cluster(WHEN_SYNCED), "unavailable", (1, 2), NO_STOPS),
        "all verbs": (lambda: cluster(WHEN_SYNCED), "unavailable", (1, 1), ALL),
        "ha-mode all": (lambda: cluster({"ha-mode": "all", "ha-sync-mode": "automatic"}), "diverged", (1, 1),
                        ALL - {"partition"}),
        "a rolling restart": (lambda: cluster({"ha-mode": "all", "ha-promote-on-shutdown": "when-synced"}),
                              "lost-confirmed", (0, 4), frozenset({"stop", "start"})),
        "lost disks": (lambda: cluster(TWO), "diverged", (2, 1),
                       frozenset({"kill", "wipe", "start", "power_off", "wait"})),
        "four nodes": (lambda: cluster(TWO, nodes="abcd"), "lost-confirmed", (2, 1),
                       frozenset({"kill", "start", "sync_queue"})),
        "no mirrors": (lambda: cluster({}), "unavailable", (1, 2),
                       frozenset({"publish", "wait", "partition", "heal", "kill"})),
        "minorities that pause": (lambda: cluster(TWO, "pause_minority"), "diverged", (1, 1), ALL),
    },
    "classic": {
        "a classic queue of 4.3": (lambda: cluster({}, version="4.3"), "lost-confirmed", (1, 2), ALL),
        "a classic queue of 4.3 and lost disks": (lambda: cluster({}, version="4.3"), "diverged", (2, 2),
                                                  frozenset({"kill", "wipe", "start", "power_off", "publish"})),
        "a classic queue of 4.3 and partitions": (lambda: cluster({}, nodes="abcd", version="4.3"), "diverged", (1, 3),
                                                  PARTED | {"kill"}),
    },
    "quorum": {
        "a quorum queue": (lambda: cluster({"max-length": 999}, arguments=QUORUM), "lost-confirmed", (1, DEEPER), ALL),
        "a quorum queue and lost disks": (lambda: cluster({}, arguments=QUORUM), "diverged", (DEEPER + 1, 1),
                                          frozenset({"kill", "wipe", "start", "power_off", "publish"})),
        "an unavailable quorum queue": (lambda: cluster({}, "pause_minority", arguments=QUORUM), "unavailable",
                                        (DEEPER, 1), ALL),
        "a quorum queue on two nodes": (lambda: cluster({}, nodes="ab", arguments=QUORUM, version="3.13"), "diverged",
                                        (DEEPER, 3), PARTED | {"kill"}),
        "a quorum queue of 4.0": (
            lambda: cluster({"delivery-limit": 5}, "pause_minority", arguments=QUORUM, version="4.0"), "lost-confirmed",
            (1, DEEPER), ALL),
        "a quorum queue of 4.0 and lost disks": (lambda: cluster({}, arguments=QUORUM, version="4.0"), "diverged",
                                                 (DEEPER + 1, 1),
                                                 frozenset({"kill", "wipe", "start", "power_off", "publish"})),
        "a quorum queue of 4.3": (
            lambda: cluster({"delivery-limit": 5}, arguments=QUORUM, version="4.3"), "lost-confirmed", (1, DEEPER),
            ALL),
        "a quorum queue of 4.3 and lost disks": (lambda: cluster({}, arguments=QUORUM, version="4.3"), "diverged",
                                                 (DEEPER + 1, 1),
                                                 frozenset({"kill", "wipe", "start", "power_off", "publish"})),
        "a quorum queue of 4.3 on three of five nodes": (
            lambda: cluster({}, nodes="abcde", arguments=QUORUM | THREE, version="4.3"), "unavailable", (1, 1),
            PARTED | {"stop"}),
        "a quorum queue that sends no leader_change to a channel": (
            lambda: cluster({}, arguments=QUORUM, version="3.8"), "lost-confirmed", (1, 2), PARTED | {"kill"}),
        "the same on two nodes": (lambda: cluster({}, nodes="ab", arguments=QUORUM, version="3.8"), "diverged", (1, 3),
                                  PARTED | {"kill"}),
        "a quorum queue on three of five nodes": (
            lambda: cluster({}, nodes="abcde", arguments=QUORUM | THREE), "diverged", (1, 1), PARTED | {"stop"}),
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "name"),
    [pytest.param(kernel, name, marks=mark, id=name) for kernel, mark in KERNELS.items() for name in TABLE[kernel]],
)
def test_compiled_search_agrees_with_the_engine(kernel, name):
    make, goal, most, verbs = TABLE[kernel][name]
    question = Question(goal, Spent(*most), verbs)
    assert kind_of(make()) == kernel
    assert compiled(make(), question) == by_engine(make(), question)


def kind_of(run: Run) -> str:
    """Return which kernel searches a cluster."""
    kernels = {search: "mirrored", khepri_search: "classic", quorum_search: "quorum"}
    return kernels[compiled_search.kernel_of(run)]


# Searches that are drawn


def drawn_run(draw: random.Random, kind: str | None = None) -> Run:
    """Draw a cluster after a few steps of a search, at any of their moments.

    It is of 4.3 with a quorum or a classic queue, if the `kind` says so.
    """
    release = "4.3" if kind in ("khepri", "classic") else None
    nodes = "abcd"[: draw.randint(2, 4)]
    modes = [{}, {"ha-mode": "all"}, TWO, TWO | {"ha-params": 3}, {"ha-mode": "nodes", "ha-params": ["b", "a"]}]
    queues = {"khepri": (QUORUM, QUORUM | THREE), "classic": ({},)}.get(kind, ({}, {}, QUORUM, QUORUM | THREE))
    definition, arguments = dict(draw.choice(modes)), draw.choice(queues)
    for key, values in (("ha-sync-mode", ("automatic", "manual")), ("ha-promote-on-failure", ("always", "when-synced")),
                        ("ha-promote-on-shutdown", ("always", "when-synced"))):  # fmt: skip
        if definition and draw.random() < 0.5:
            definition[key] = draw.choice(values)
    version = release or draw.choice(QUORUM_RELEASES if arguments else QUORUM_RELEASES[:3])
    definition = definition if PROFILES[version].mirroring else {}
    handling, messages, seed = draw.choice(HANDLINGS), draw.randint(0, 6), draw.randint(0, 99)
    run = cluster(definition, handling, nodes, messages, arguments, seed, version=version)
    if arguments or release:
        run.apply_plain({"wait": 1})  # The search does not take it up where a declaration is under way, or a batch.
    for _ in range(draw.randint(0, 4)):
        then = draw.choice(list(instants(run)))
        kinds: dict[type, list] = {}
        for move in moves(then.moment, run.settings, Spent(9, 9), ALL):
            kinds.setdefault(type(move.verb), []).append(move.verb)
        if kinds:
            run.apply(Step(draw.choice(draw.choice(list(kinds.values()))), then.at))
    return run


def drawn(number: int, kind: str | None = None) -> tuple[Run, Question]:
    """Return the search with this number, of a kind if given (`drawn_run`)."""
    draw = random.Random(f"{SEED} {number}")
    verbs = frozenset(draw.sample(sorted(ALL), draw.randint(3, 10)))
    most = Spent(*draw.choice([(1, 1), (2, 0), (0, 2), (1, 0)]))
    return drawn_run(draw, kind), Question(draw.choice(list(GOALS)), most, verbs)


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=KERNELS[kernel]) for kind, kernel in KINDS.items()])
@pytest.mark.parametrize("part", of_the_day(PARTS))
def test_compiled_search_agrees_from_drawn_clusters(part, kind):
    handed_over, of_kind = [], kind in ("khepri", "classic")
    for number in range(part * PART, (part + 1) * PART):
        run, question = drawn(number, kind)
        if (of_kind or kind_of(run) == kind) and refused(run) is None:
            search = Counted(run, question)
            assert search.found(run, question) == by_engine(run, question), number
            handed_over += [number] * (search.handed_over > 0)
    assert len(handed_over) <= 2 * (not of_kind), "one of some hundred searches has states that the engine plays"


@KERNELS["quorum"]
def test_compiled_search_agrees_from_two_sides_that_are_down():
    """A lost log is searched though the side with its disk has ended."""
    run = cluster({}, "autoheal", nodes="ab", messages=2, arguments=QUORUM)
    for step in ({"partition": [["a"], ["b"]]}, {"publish": {"queue": "q", "count": 1, "node": "a"}}, {"wait": 75},
                 {"kill": ["a", "b"]}):  # fmt: skip
        run.apply_plain(step)
    question = Question("unavailable", Spent(2, 0), frozenset({"start", "stop", "wait", "wipe", "publish", "kill"}))
    assert compiled(run, question) == by_engine(run, question)


@KERNELS["quorum"]
@pytest.mark.parametrize(("version", "states"), [("3.8", 67), ("3.10", 62), ("3.13", 62), ("4.0", 62), ("4.3", 0)])
def test_engine_plays_the_first_boot_of_a_node_without_a_member(version, states):
    """The queue's record is then on disks alone, except with Khepri, of which each node has all records."""
    run = cluster({}, nodes="abcd", arguments=QUORUM | THREE, version=version)
    members = run.moment().state.queues["q"].members
    run.apply_plain({"kill": [run.settings.names[node] for node in members]})
    question = Question("diverged", Spent(1, 2), frozenset({"kill", "start", "publish"}))
    search = Counted(run, question)
    assert search.found(run, question) == by_engine(run, question)
    assert search.handed_over == states


@pytest.mark.parametrize(
    ("kind", "least"),
    [pytest.param("mirrored", 50, marks=KERNELS["mirrored"]), pytest.param("quorum", 30, marks=KERNELS["quorum"])],
)
def test_compiled_search_agrees_from_the_ends_of_scenarios(kind, least):
    """These include drained nodes and queues under any policy."""
    question, searched = Question("lost-confirmed", Spent(1, 1), frozenset({"publish", "start", "partition"})), 0
    for file in sorted(SCENARIOS.glob("*.yaml")):
        run = Run.of(load(file))
        if kind_of(run) == kind and refused(run) is None:
            assert compiled(run, question) == by_engine(run, question), file.name
            searched += 1
    assert searched > least


def test_few_drawn_searches_are_refused():
    runs = [drawn(number)[0] for number in range(CASES)]
    reasons = Counter((kind_of(run), run.settings.profile.version, refused(run)) for run in runs)
    assert sum(count for (_, _, reason), count in reasons.items() if reason is None) >= 0.9 * CASES, reasons
    for version in QUORUM_RELEASES:
        searched = reasons["quorum", version, None]
        of_release = sum(count for (kind, of, _), count in reasons.items() if (kind, of) == ("quorum", version))
        assert searched >= 10 and searched >= 0.9 * of_release, reasons


# How it does


def test_verbs_and_goals_have_the_numbers_of_the_kernel():
    names = [verb.__name__.lower() for verb in compiled_search.VERBS]
    assert names == [verb.replace("_", "") for verb in MOVES]
    assert compiled_search.VERBS[search_moves.PARTITION] is Partition
    assert compiled_search.VERBS[search_moves.WIPE] is Wipe
    assert list(GOALS)[search.UNAVAILABLE] == "unavailable" and list(GOALS)[search.DIVERGED] == "diverged"


def moment_of(place: room.Place) -> Moment:
    """Return the moment to which the engine has played a story."""
    return place.played.moment() if place.at is None else place.played.moment_at(place.at)


QUEUES = [
    pytest.param(*given, marks=KERNELS[name.split()[0]], id=name) for name, given in {
        "mirrored": (TWO, {}, "3.10"), "classic of 4.3": ({}, {}, "4.3"), "quorum of 3.8": (TWO, QUORUM, "3.8"),
        "quorum of 3.10": (TWO, QUORUM, "3.10"), "quorum of 4.0": ({}, QUORUM, "4.0"),
        "quorum of 4.3": ({}, QUORUM, "4.3"),
    }.items()
]  # fmt: skip
"""Queues of each kernel: the policy, the arguments and the release."""


@pytest.mark.parametrize(("definition", "arguments", "version"), QUEUES)
def test_compiled_keys_distinguish_states_as_the_engine_does(definition, arguments, version):
    """The engine plays the states, so only the keys are compared."""
    run = cluster(definition, "pause_minority", arguments=arguments, version=version)
    question = Question("lost-confirmed", Spent(1, 1), ALL)
    kernel, names, places = Compiled(run, question), {}, [room.Place()]
    while places:
        following = {}
        for found in followers(run, question, places):
            moment = moment_of(found.place)
            if found.digest not in names:
                following[found.digest] = found.place
            names.setdefault(found.digest, set()).add(kernel.name(moment, run))
        places = list(following.values())
    assert len(names) > 100
    assert all(len(named) == 1 for named in names.values())
    assert len(set().union(*names.values())) == len(names)


@pytest.mark.parametrize(("definition", "arguments", "version"), QUEUES)
@pytest.mark.parametrize("verbs", [("kill", "publish"), ("partition", "publish", "wait", "heal")], ids=" ".join)
def test_kernel_plays_stories_to_the_states_of_the_engine(definition, arguments, version, verbs):
    """Searches that find as many states may have played some of them wrongly; here each has the engine's key."""
    run = cluster(definition, arguments=arguments, version=version)
    question = Question("diverged", Spent(1, 3 if version == "3.8" else 2), frozenset(verbs))
    kernel, known, places = Compiled(run, question), set(), [(room.Place(), room.Place())]
    while places:
        following = []
        for engines, kernels in places:
            played = {one.place[:2]: one for one in kernel.expand(run, question, [kernels])}
            for found in followers(run, question, [engines]):
                one = played[found.place[:2]]
                assert one.digest == kernel.name(moment_of(found.place), run), found.place.steps
                following += [(found.place, one.place)] * (one.digest not in known)
                known.add(one.digest)
        places = following
    assert len(known) > 25


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [pytest.param(search, {}, marks=KERNELS["mirrored"], id="mirrored"),
     pytest.param(quorum_search, QUORUM, marks=KERNELS["quorum"], id="quorum")],
)
def test_engine_plays_states_that_do_not_fit_the_kernel(monkeypatch, kernel, arguments):
    run = cluster(TWO, "autoheal", arguments=arguments)
    question = Question("lost-confirmed", Spent(1, 2), PARTED)
    played, followed = [], kernel.followers

    def too_much(*given):
        played.append(given)
        if len(played) % 3 == 0:
            raise OverflowError("too much")
        return followed(*given)

    monkeypatch.setattr(kernel, "followers", too_much)
    search = Counted(run, question)
    assert search.found(run, question) == by_engine(run, question)
    assert len(played) > 30
    assert search.handed_over == len(played) // 3


@KERNELS["mirrored"]
def test_answer_does_not_depend_on_the_cache_size(monkeypatch):
    run, question = cluster(TWO, "autoheal"), Question("lost-confirmed", Spent(1, 2), PARTED | {"kill", "sync_queue"})
    kept = compiled(run, question)
    monkeypatch.setattr(room, "AT_HAND", 5)
    assert compiled(run, question) == kept


@KERNELS["mirrored"]
def test_verbs_round_trip_through_their_numbers():
    run = cluster(TWO)
    kernel = Compiled(run, Question("diverged", Spent(2, 2), ALL))
    for verb in (move.verb for move in moves(run.moment(), run.settings, Spent(9, 9), ALL)):
        assert kernel._verb(*kernel._code(verb)) == verb


REFUSED = {
    "consumers, and publishers": lambda: after(cluster(TWO), {"consume": {"consumer": "c", "queue": "q"}}),
    "a length limit or a TTL": lambda: cluster(TWO | {"max-length": 9}),
    "transient messages": lambda: after(cluster(TWO), {"publish": {"queue": "q", "count": 1, "persistent": False}}),
    "alarms": lambda: after(cluster(TWO), {"alarm": {"node": "a", "resource": "memory"}}),
    "crashed queue processes": lambda: after(cluster(TWO), {"crash": {"queue": "q", "node": "b"}, "at": 99}),
    "a queue that a changed policy no longer mirrors": lambda: after(
        cluster({"ha-mode": "exactly", "ha-params": 1}), {"kill": "a"}, {"wipe": "a"}, {"clear_policy": "p"}
    ),
    "a changed policy no longer mirrors": lambda: Run.of(load(SCENARIOS / "policy-cleared-while-mirrors-wait.yaml")),
    "no queue, several queues": lambda: after(cluster(TWO), {"declare": {"queue": "r"}}),
    "more than 5 nodes": lambda: cluster(TWO, nodes="abcdef"),
    "so many ranges of messages": lambda: cluster(TWO, messages=10**12),
    "not listed in the order of their names": lambda: cluster(TWO, nodes="bac"),
    "a soft limit": lambda: cluster({}, arguments=QUORUM, quorum_commands_soft_limit=12),
    "streams": lambda: cluster({}, arguments={"x-queue-type": "stream"}),
    "a metadata store whose members": lambda: after(
        cluster({}, version="4.3"), {"kill": "b"}, {"wipe": "b"}, {"forget_cluster_node": {"node": "b"}},
        {"join": "b"}, {"wait": 90},
    ),
    "or changed settings": lambda: cluster({}, arguments=QUORUM | {"x-message-ttl": 9}),
    "could come near": lambda: cluster({"max-length": 9}, arguments=QUORUM),
    "members that join, leave": lambda: after(cluster({}, arguments=QUORUM | THREE, nodes="abcd"),
                                              {"grow": {"node": "d"}}),
    "have been truncated, or may be": lambda: after(cluster({}, arguments=QUORUM, messages=9000),
                                              {"purge": "q"}),
    "a scheduled event, or a waiting operation": lambda: after(
        cluster({}, arguments=QUORUM), {"partition": [["a"], ["b", "c"]]},
        {"publish": {"queue": "q", "count": 2, "node": "a"}},
    ),
    "log entries that a search": lambda: after(cluster({}, arguments=QUORUM),
                                         {"publish": {"queue": "q", "count": 1, "size": 9}}),
}  # fmt: skip


def after(run: Run, *steps: dict) -> Run:
    for step in steps:
        run.apply_plain(step)
    return run


@pytest.mark.parametrize("reason", REFUSED)
def test_unsupported_cluster_is_refused_with_the_reason(reason):
    run = REFUSED[reason]()
    assert reason in refused(run)
    with pytest.raises(moments.SearchRefused):
        Compiled(run, Question("diverged", Spent(1, 0), ALL))
