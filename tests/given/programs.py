"""Random programs: scenarios that begin with a policy and queues, and in which then anything may happen.

`programs()` draws the beginning of a scenario and groups of steps. In a group the first step begins when the cluster
has settled, and the others so much later than the first: within a link's latency, while something is under way, or
long afterwards. `play` plays them, and `concrete` gives them as the steps of a file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from hypothesis import strategies as st

from hawb.scenario.dump import plain
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

QUEUES = ("q1", "q2")
CONSUMERS = ("c1", "c2")
DELAYS_S = (0, 0.0001, 0.0004, 0.0005, 0.0006, 0.001, 0.0011, 0.002, 0.003, 0.3, 0.8, 1.0, 2.0, 5.0, 5.0005, 6.0, 40.0)
"""After the first step of a group: within a link's latency, a disk write, a synchronisation, a shutdown, a boot."""

LIMITED = (
    {"x-max-length": 8},
    {"x-max-length-bytes": 20_000, "x-max-priority": 5},
    {"x-max-length": 12, "x-overflow": "reject-publish"},
    {"x-message-ttl": 1_000, "x-expires": 50_000},
    {"x-max-length": 5, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q2"},
    {"x-message-ttl": 2_000, "x-max-priority": 2, "x-dead-letter-exchange": "x"},
)
"""Arguments with which a queue has limits, priorities or dead letters."""

QUORUM = {"x-queue-type": "quorum"}
QUORUM_LIMITED = (
    {"x-quorum-initial-group-size": 1},
    {"x-quorum-initial-group-size": 2, "x-max-length": 8},
    {"x-quorum-initial-group-size": 4, "x-delivery-limit": 1},
    {"x-quorum-initial-group-size": 5, "x-message-ttl": 1_000},
    {"x-delivery-limit": 2, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q2"},
    {"x-single-active-consumer": True, "x-max-length-bytes": 20_000},
    {"x-max-length": 12, "x-overflow": "reject-publish"},
    {"x-max-length": 5, "x-dead-letter-exchange": "x"},
    {"x-max-length": 20, "x-overflow": "reject-publish", "x-message-ttl": 2_000, "x-dead-letter-exchange": "",
     "x-dead-letter-routing-key": "q2", "x-dead-letter-strategy": "at-least-once"},
    {"x-expires": 50_000},
)  # fmt: skip
"""Arguments of quorum queues, some of which some releases refuse."""

ENDS = ("ack", "cancel", "close")
"""How a consumption ends."""
ALONE = ("force_shrink", "force_standalone_khepri_boot")
"""By which a node goes on without the others."""

HANDLINGS = ("ignore", "pause_minority", "autoheal", {"pause_if_all_down": ["a"], "recover": "autoheal"})

Group = list[tuple[float, dict]]
"""Steps, each with how long after the first of them it begins."""

TIMINGS = (
    {},
    {"sync_messages_s": 10},
    {"sync_messages_s": 10, "stop_s": 0, "start_s": 0.3},
    {"link_latency_s": 0, "fsync_s": 0},
)


@cache
def steps(nodes: tuple[str, ...], quorum: bool) -> st.SearchStrategy[dict]:
    """Draw one step, as a file writes it; `quorum` includes steps for quorum queues."""
    node, some = st.sampled_from(nodes), st.lists(st.sampled_from(nodes), min_size=1, max_size=2, unique=True)
    queue, consumer = st.sampled_from(QUEUES), st.sampled_from(CONSUMERS)
    count, yes, mode = st.integers(1, 30), st.booleans(), st.sampled_from(["confirm", "plain", "tx"])
    resource, connection = st.sampled_from(["memory", "disk"]), st.sampled_from(["default", "default", "p"])

    def verb(name: str, /, **fields: st.SearchStrategy) -> st.SearchStrategy[dict]:
        return st.fixed_dictionaries(fields).map(lambda argument: {name: argument})

    faults = st.one_of(
        *[some.map(lambda chosen, name=name: {name: chosen}) for name in ("kill", "stop", "power_off", *["start"] * 4)],
        links(nodes),
        st.just({"heal": True}),
        node.map(lambda chosen: {"force_boot": chosen}),
    )
    clients = st.one_of(
        verb("publish", queue=queue, count=count, node=node, persistent=yes, mode=mode, connection=connection),
        verb("publish", queues=st.just(list(QUEUES)), count=count, node=node, priority=st.sampled_from([None, 1, 9])),
        verb("consume", consumer=consumer, queue=queue, node=node, prefetch=st.sampled_from([0, 1, 5]),
             ack=st.sampled_from(["manual", "manual", "auto"]), cancel_on_ha_failover=yes, global_prefetch=yes,
             exclusive=st.sampled_from([False, False, False, True]), priority=st.sampled_from([0, 0, 1]),
             rate=st.sampled_from([None, None, 2, 5_000])),
        verb("publisher", name=st.just("p"), queue=queue, node=node, rate=st.sampled_from([0.1, 20, 10_000]),
             mode=mode, persistent=yes),
        verb("ack", consumer=consumer, count=st.sampled_from([1, 4, "all"])),
        verb("nack", consumer=consumer, count=st.sampled_from([1, 4, "all"]), requeue=yes),
        verb("get", queue=queue, count=st.integers(1, 10), ack=yes, consumer=st.sampled_from(["c1", "h"])),
        st.builds(lambda name: {"close": name}, st.sampled_from([*CONSUMERS, "h", "default", "p"])),
        st.builds(lambda name: {"cancel": name}, consumer),
        st.builds(lambda name: {"purge": name}, queue),
    )  # fmt: skip
    queues = st.one_of(
        verb("declare", queue=queue, node=node, durable=yes),
        verb("declare", queue=queue, node=node, arguments=st.sampled_from(LIMITED)),
        verb("bind", queue=queue, exchange=st.sampled_from(["x", "x", "amq.fanout"]), routing_key=queue),
        verb("declare", queue=queue, node=node, arguments=st.just({"x-single-active-consumer": True})),
        verb("declare", queue=queue, node=node, exclusive=yes, auto_delete=yes),
        verb("delete", queue=queue, node=node, if_empty=yes, if_unused=yes),
    )
    operations = st.one_of(
        policies(nodes, quorum).map(lambda entry: {"set_policy": entry}),
        st.just({"clear_policy": "p"}),
        operator_policies(nodes).map(lambda entry: {"set_operator_policy": entry}),
        st.just({"clear_operator_policy": "p"}),
        queue.map(lambda name: {"sync_queue": name}),
        verb("crash", queue=queue),
        verb("crash", queue=queue, node=node),
        queue.map(lambda name: {"cancel_sync_queue": name}),
        verb("transfer_leadership", queue=queue, node=node),
        st.builds(lambda name, chosen: {name: chosen}, st.sampled_from(["wipe", "reset", "force_reset", "join"]), node),
        verb("forget_cluster_node", node=node),
        verb("alarm", node=node, resource=resource),
        verb("clear_alarm", node=node, resource=resource),
        st.builds(lambda name, chosen: {name: chosen}, st.sampled_from(["drain", "revive"]), node),
        st.just({"rebalance": True}),
        st.sampled_from([0.001, 1, 70, 400]).map(lambda seconds: {"wait": seconds}),
    )
    members = st.one_of(
        verb("add_member", queue=queue, node=node),
        verb("delete_member", queue=queue, node=node),
        verb("transfer_leadership", queue=queue, node=node),
        verb("grow", node=node, strategy=st.sampled_from(["all", "even"])),
        st.builds(lambda name, chosen: {name: chosen}, st.sampled_from(ALONE), node),
        node.map(lambda chosen: {"shrink": chosen}),
        verb("crash", queue=queue, node=node),
        verb("declare", queue=queue, node=node, arguments=quorum_arguments()),
    )
    more = (members, members, faults, clients) if quorum else ()
    return st.one_of(faults, faults, clients, clients, clients, queues, operations, *more)


@cache
def quorum_arguments() -> st.SearchStrategy[dict]:
    """Draw the arguments of a quorum queue, half of them without limits."""
    return st.sampled_from([QUORUM] * len(QUORUM_LIMITED) + [QUORUM | limits for limits in QUORUM_LIMITED])


@cache
def links(nodes: tuple[str, ...]) -> st.SearchStrategy[dict]:
    """Draw links that fail: those between two or more groups of nodes, or a single one."""
    order = st.permutations(nodes)
    at = st.integers(1, len(nodes) - 1)
    groups = st.builds(lambda chosen, at: {"partition": [chosen[:at], chosen[at:]]}, order, at)
    alone = order.map(lambda chosen: {"partition": [[node] for node in chosen]})
    return st.one_of(groups, groups, groups, alone, order.map(lambda chosen: {"cut": [chosen[:2]]}))


@cache
def policies(nodes: tuple[str, ...], quorum: bool = False) -> st.SearchStrategy[dict]:
    """Draw a mirroring policy for all queues."""
    when = st.sampled_from(["always", "when-synced"])
    return st.builds(
        lambda mode, more: {"name": "p", "pattern": "^q", "definition": mode | more},
        st.one_of(
            st.just({"ha-mode": "all"}),
            st.integers(1, 4).map(lambda count: {"ha-mode": "exactly", "ha-params": count}),
            st.lists(st.sampled_from([*nodes, "elsewhere"]), min_size=1, max_size=3, unique=True).map(
                lambda names: {"ha-mode": "nodes", "ha-params": names}
            ),
        ),
        st.fixed_dictionaries(
            {},
            optional={
                "ha-sync-mode": st.sampled_from(["automatic", "manual"]),
                "ha-promote-on-shutdown": when,
                "ha-promote-on-failure": when,
                "max-length": st.integers(0, 20),
                "overflow": st.sampled_from(["drop-head", "reject-publish", "reject-publish-dlx"]),
                "message-ttl": st.sampled_from([0, 500, 5_000]),
                "expires": st.just(60_000),
                "dead-letter-exchange": st.sampled_from(["", "x", "nowhere"]),
            }
            | ({"delivery-limit": st.integers(0, 3)} if quorum else {}),
        ),
    )


@cache
def operator_policies(nodes: tuple[str, ...]) -> st.SearchStrategy[dict]:
    """Draw an operator policy for all queues: 3.13 accepts it, other releases refuse it."""
    left_out = ("ha-promote-on-shutdown", "ha-promote-on-failure")

    def taken(entry: dict) -> dict:
        definition = {key: value for key, value in entry["definition"].items() if key not in left_out}
        return entry | {"definition": definition}

    return policies(nodes).map(taken)


@st.composite
def programs(draw, least: int = 3, *, quorum: bool = False) -> tuple[dict, list[Group]]:
    """A scenario that has a policy and queues, and groups of steps: in each the first begins when the cluster has
    settled, and the others so much later than the first. `quorum`: the first queue is a quorum queue, the second of
    either type."""
    nodes = tuple("abcde"[: draw(st.integers(2, 5))])
    cluster = {
        "nodes": list(draw(st.permutations(nodes))),
        "version": draw(st.sampled_from(["3.8", "3.10", "3.13", *(["4.0", "4.3"] if quorum else [])])),
        "queue_master_locator": draw(st.sampled_from(["client-local", "client-local", "min-masters", "random"])),
        "timing": draw(st.sampled_from(TIMINGS)),
        "mirroring_sync_batch_size": draw(st.sampled_from([4096, 3])),
        "cluster_partition_handling": draw(st.sampled_from(HANDLINGS)),
    }
    given = {"scenario": "found by chance", "seed": draw(st.integers(0, 3)), "cluster": cluster}
    node, queue = st.sampled_from(nodes), st.sampled_from(QUEUES)
    arguments = st.sampled_from([{}, {}, {"x-single-active-consumer": True}, *LIMITED])
    kinds = (quorum_arguments(), st.one_of(arguments, quorum_arguments())) if quorum else (arguments, arguments)
    first = [
        {"set_policy": draw(policies(nodes, quorum))},
        *({"declare": {"queue": name, "node": draw(node), "arguments": draw(kind)}}
          for name, kind in zip(QUEUES, kinds, strict=True)),
        {"publish": {"queues": list(QUEUES), "count": 10, "node": draw(node)}},
        {"consume": {"consumer": "c1", "queue": draw(queue), "node": draw(node), "prefetch": 5}},
    ]
    chapters = draw(chapters_of(nodes, least, quorum))
    return given, [[(0, step)] for step in first] + [group for groups in chapters for group in groups]


@cache
def chapters_of(nodes: tuple[str, ...], least: int, quorum: bool) -> st.SearchStrategy[list[list[Group]]]:
    """What happens after the beginning. Strategies are kept, since making them takes longer than to play what they
    draw."""
    chapter = st.one_of(
        [chapters(nodes, quorum) for chapters in (groups_of, returns, races, consumptions, maintenance)]
    )
    return st.lists(chapter, min_size=least, max_size=7)


@cache
def groups_of(nodes: tuple[str, ...], quorum: bool) -> st.SearchStrategy[list[Group]]:
    """Draw a few groups of any steps."""
    return st.lists(st.lists(timed(nodes, quorum), min_size=2, max_size=4), min_size=1, max_size=2)


@cache
def timed(nodes: tuple[str, ...], quorum: bool) -> st.SearchStrategy[tuple[float, dict]]:
    """Draw any step, and how long after the first of its group it begins."""
    return st.tuples(st.sampled_from(DELAYS_S), steps(nodes, quorum))


@cache
def returns(nodes: tuple[str, ...], quorum: bool) -> st.SearchStrategy[list[Group]]:
    """A node goes, messages come, it is back and does not hold them; while it joins something happens, and then all the
    others go: what is left is a mirror that may not be synchronised, and a master that may come back."""
    fault = st.sampled_from(["kill", "stop"])
    published = st.fixed_dictionaries(
        {"queues": st.just(list(QUEUES)), "count": st.integers(1, 30), "persistent": st.booleans()}
    )
    return st.builds(
        lambda node, fault, publish, while_joining, next_fault, last: [
            [(0, {fault: node})],
            [(0, {"publish": publish})],
            [(0, {"start": node}), while_joining],
            [(0, {next_fault: [other for other in nodes if other != node]}), last],
        ],
        *(st.sampled_from(nodes), fault, published, timed(nodes, quorum), fault, timed(nodes, quorum)),
    )


@cache
def consumptions(nodes: tuple[str, ...], quorum: bool) -> st.SearchStrategy[list[Group]]:
    """Draw a consumer that subscribes, gets messages, answers some of them while something else happens, and goes."""
    rest = st.fixed_dictionaries({"prefetch": st.sampled_from([0, 3]), "node": st.sampled_from(nodes)})
    answer = st.builds(
        lambda verb, count: (verb, count), st.sampled_from(["ack", "ack", "nack"]), st.sampled_from([1, 4, "all"])
    )
    return st.builds(
        lambda name, queue, rest, answer, meanwhile, end: [
            [(0, {"consume": {"consumer": name, "queue": queue} | rest})],
            [(0, {"publish": {"queue": queue, "count": 7}})],
            [(0, {answer[0]: {"consumer": name, "count": answer[1]}}), meanwhile],
            [(0, {end: {"consumer": name} if end == "ack" else name})],
        ],
        *(st.sampled_from(CONSUMERS), st.sampled_from(QUEUES), rest, answer, timed(nodes, quorum)),
        st.sampled_from(ENDS),
    )


@cache
def maintenance(nodes: tuple[str, ...], quorum: bool) -> st.SearchStrategy[list[Group]]:
    """Draw something that an operator begins and ends, and something that happens meanwhile."""
    begun = st.one_of(
        st.sampled_from(nodes).map(lambda node: ({"drain": node}, {"revive": node})),
        st.builds(lambda node, resource: {"node": node, "resource": resource},
                  st.sampled_from(nodes), st.sampled_from(["memory", "disk"]),
        ).map(lambda where: ({"alarm": where}, {"clear_alarm": where})),
        links(nodes).map(lambda step: (step, {"heal": True})),
        st.sampled_from(QUEUES).map(lambda queue: ({"sync_queue": queue}, {"cancel_sync_queue": queue})),
    )
    return st.builds(
        lambda pair, meanwhile, delay_s: [[(0, pair[0]), meanwhile], [(0, {"wait": delay_s}), (delay_s, pair[1])]],
        *(begun, timed(nodes, quorum), st.sampled_from([0.001, 0.3, 20, 100])),
    )


@cache
def races(nodes: tuple[str, ...], quorum: bool) -> st.SearchStrategy[list[Group]]:
    """Draw messages that are published, and nodes that go, processes that crash or policies that change before their
    confirms.
    """
    node, some = st.sampled_from(nodes), st.lists(st.sampled_from(nodes), min_size=1, max_size=2, unique=True)
    disturbances = st.one_of(
        st.builds(lambda verb, chosen: {verb: chosen}, st.sampled_from(["kill", "stop"]), some),
        policies(nodes, quorum).map(lambda entry: {"set_policy": entry}),
        st.builds(lambda queue, at: {"crash": {"queue": queue} | at}, st.sampled_from(QUEUES),
                  st.one_of(st.just({}), node.map(lambda name: {"node": name}))),
    )  # fmt: skip
    return st.builds(
        lambda node, queue, delay_s, disturbance: [
            [(0, {"publish": {"queue": queue, "count": 3, "node": node}}), (delay_s, disturbance)]
        ],
        *(node, st.sampled_from(QUEUES), st.sampled_from(DELAYS_S[:8]), disturbances),
    )


def concrete(given: dict, groups: list[Group]) -> list[dict]:
    """Return the program's steps as a file has them."""
    run = Run(read_scenario(given))
    play(run, groups)
    return plain(run.scenario)["steps"]


def play(run: Run, groups: list[Group], check: Callable[[Run], None] = lambda run: None) -> None:
    """Plays the groups, with a check after each."""
    for group in groups:
        began_us = run.moment().state.time_us
        (_, first), *others = sorted(group, key=lambda pair: pair[0])
        run.apply_plain(first)
        for delay_s, step in others:
            run.apply_plain(step | {"at": began_us / 1_000_000 + delay_s})
        check(run)
