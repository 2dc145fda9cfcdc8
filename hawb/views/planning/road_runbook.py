"""The steps of an upgrade across several releases as Markdown, with the commands before, at and after each node.

Each step says what the newer release removes, and what does not work while both releases run.

Sources of the commands: `rabbitmqctl`, `rabbitmq-upgrade`, `rabbitmq-diagnostics` and `rabbitmq-queues` of 3.8 to 4.3.6
(`await_online_synchronized_mirror` up to 3.13, `check_if_any_deprecated_features_are_used` and `metadata_store_status`
since 3.13). In 4.2, khepri_db is one of the stable flags that `enable_feature_flag all` enables (`rabbit_core_ff`,
`rabbit_feature_flags:enable_all`), so there the other flags are enabled by name. On Khepri: `rabbit_khepri`
(khepri_db_migration_enable, migrate_mnesia_tables, setup) and the documentation of `mnesia_to_khepri`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hawb.planning.refused_there import Refused
from hawb.rules.quorum import majority, tolerated_failures
from hawb.rules.upgrade_road import KHEPRI, Leg
from hawb.views.formatting import counted, listing
from hawb.views.markdown import bash_word, block, code, plain, table

MOST_NAMES = 20
"""The maximum number of listed names of refused things."""

TIMEOUT_S = 3600
UNSTABLE_KHEPRI = ("3.13", "4.0", "4.1")
"""The releases in which khepri_db is experimental, so that `all` leaves it out."""
STABLE_KHEPRI = "4.2"
"""The release in which khepri_db is a stable flag but not required yet."""

ROAD = ("step", "to", "Erlang", "flags enabled before", "ends, or changes")
ENDS = ("with", "what", "before it", "source")
REFUSED = ("what", "of how many", "names", "what to do", "source")

NEWEST = """\
{latest} was the newest release of {name} when hawb was written. Install the newest patch release: each one fixes
bugs of earlier ones. The {source} says that this step is possible."""
THE_ROLL = """\
Upgrade one node after the other, {which}. `hawb upgrade` with `--to {goal}` finds the best order, and what to
wait for. If a command fails, stop there."""
KHEPRI_BEFORE = """\
Before this step metadata moves from Mnesia to Khepri, while all nodes of {series} run. There is no way back to
Mnesia. Change RAM nodes to disc nodes first. `metadata_store_status` shows whether this has been done already."""
KHEPRI_MEANWHILE = """\
Expect an outage of metadata, not of messages: publishing and consuming continue. RabbitMQ copies the tables while
they are in use, which costs some speed and memory. A client that declares, binds, sets a policy or adds a user
meanwhile may have to wait until the copy is complete (`rabbit_khepri`: is_enabled blocks, handle_fallback tries
again). No source says how long this takes. It takes longer with more queues, bindings and users; 4.2.5 made it
faster. Try it with your own definitions on another cluster, and do it when clients declare little."""
KHEPRI_AFTERWARDS = """\
From then on, every declaration, binding and other change needs a majority of the nodes. Without one it fails after
30 s, with 541 for clients and exit status 75 for rabbitmqctl. A node that boots waits 5 minutes for a majority; then
its boot fails. Clients can still publish to and consume from queues that exist."""
WITHOUT = "If one is missing, {without}."


def overview(legs: Sequence[Leg], move_at: int | None) -> list[str]:
    """Return a table of all steps.

    `move_at` is the index of the step before which the queues are migrated; None if no step needs that.
    """
    rows = []
    for number, leg in enumerate(legs):
        if number == move_at:
            rows.append(("the move", f"on {leg.older.series}, mirrored queues become quorum queues", "", "", ""))
        flags = counted(len(leg.flags), "flag") if leg.flags else "none more"
        rows.append((leg.name, leg.newer.latest, f"{leg.newer.erlang} to {leg.newer.erlang_most}.x",
                     f"{flags}, {KHEPRI} among them" if leg.moves_metadata else flags, _ends(leg)))  # fmt: skip
    return ["## The steps", table(ROAD, rows)]


def _ends(leg: Leg) -> str:
    ended = ["mirroring"] if leg.drops_mirrors else []
    ended += ["Mnesia, partition handling"] if leg.moves_metadata else []
    rest = len(leg.removed) - len(ended) - leg.moves_metadata
    return ", ".join([*ended, *([f"{rest} in its table"] if rest else [])])


def refused_parts(refused: Sequence[Refused], release: str) -> list[str]:
    """Return a table of the things in the cluster that a release refuses, with number and names; empty if none."""
    if not refused:
        return []
    return [
        f"## What {release} refuses of it",
        "According to the files. Objects that exist stay through the upgrade, except those that keep a node from"
        " booting.",
        table(REFUSED, [(plain(one.what), f"{len(one.names):,}", _names(one.names), plain(one.do), plain(one.source))
                        for one in refused]),
    ]  # fmt: skip


def never_more(names: Sequence[str]) -> list[str]:
    """Return a warning about quorum queues that never have more than a bare majority; empty if there are none.

    On their nodes RabbitMQ's checks never pass.
    """
    if not names:
        return []
    return [
        f"Quorum queues of one or two members never have more than a bare majority: {_names(names)}. On their nodes"
        " `await_online_quorum_plus_one` waits until its time is up, and `check_if_node_is_quorum_critical` fails."
        " Give them a third member first (`rabbitmq-queues grow`), or accept that they are out of use while their"
        " node is down, and leave out both commands there."
    ]


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(code, names[:MOST_NAMES])) + more


def step(
    leg: Leg, title: str, goal: str, nodes: Sequence[str] = (), mirrors: bool = False, first: Sequence[str] = ()
) -> list[str]:
    """Return the text of a step, from its first check to its last.

    `mirrors` is True if mirrored queues may exist during the step; `first` has further paragraphs to put before it.
    """
    return [
        f"## {title}",
        *before(leg, nodes, first),
        "### Node by node",
        THE_ROLL.format(which=plain(listing(nodes)) if nodes else "each of them", goal=goal),
        block(node_lines(leg, mirrors, nodes)),
        *meanwhile(leg),
        *afterwards(leg),
    ]


def before(leg: Leg, nodes: Sequence[str] = (), first: Sequence[str] = ()) -> list[str]:
    """Return what a step removes, and the commands to type before its first node."""
    newer = leg.newer
    parts = [NEWEST.format(name=newer.series, latest=newer.latest, source=newer.source)]
    if leg.least is not None:
        parts.append(f"Nodes of {leg.older.series} must run {leg.least} or later before this step.")
    parts.append(_erlang(leg))
    if leg.removed:
        rows = [(series, plain(fact.what), plain(fact.do), plain(fact.source)) for series, fact in leg.removed]
        parts.append(table(ENDS, rows))
    parts.append("### Before the first node")
    parts += _khepri(leg, nodes) if leg.moves_metadata else []
    return [*parts, *first, *_flags(leg), block(_checks(leg))]


def _erlang(leg: Leg) -> str:
    newer = leg.newer
    text = f"It needs Erlang {newer.erlang} or later, up to {newer.erlang_most}.x."
    if leg.erlang_together:
        text += (
            f" {leg.older.series} supports at most Erlang {leg.older.erlang_most}.x: Erlang and RabbitMQ are changed"
            " in the same stop of each node."
        )  # fmt: skip
    elif leg.new_erlang:
        text += " A node on an older one does not start: change Erlang before, or in the same stop."
    notes = [f"{note[0].upper()}{note[1:]}." for note in (newer.erlang_note,) if note]
    return " ".join([text, *notes])


def _khepri(leg: Leg, nodes: Sequence[str]) -> list[str]:
    return [
        KHEPRI_BEFORE.format(series=leg.older.series),
        block([
            "rabbitmqctl cluster_status   # every node runs, none is a RAM node",
            f"rabbitmqctl enable_feature_flag {KHEPRI}",
            "rabbitmq-diagnostics metadata_store_status   # a leader, and every other node a follower",
        ]),
        KHEPRI_MEANWHILE,
        f"{KHEPRI_AFTERWARDS}{_majority(len(nodes))}",
    ]  # fmt: skip


def _majority(nodes: int) -> str:
    if nodes == 0:
        return ""
    if nodes == 1:
        return " A single node is its own majority."
    spare = tolerated_failures(nodes)
    if spare == 0:
        return (
            f" **With {nodes} nodes, this is so while either node is down, in this step and from then on**: each stop"
            " of the rolling restart is an outage of metadata, and `await_online_quorum_plus_one` never ends. Add a"
            " third node first."
        )
    also = "and no second one may go down meanwhile" if spare == 1 else f"and {spare - 1} more may go down meanwhile"
    return f" A majority of {nodes} nodes is {majority(nodes)}: during the rolling restart one node is down, {also}."


def _flags(leg: Leg) -> list[str]:
    if not leg.flags:
        return [f"{leg.newer.series} requires no flag that {leg.older.series} may lack. A later step requires some:"
                " enable all flags."]
    text = f"These must be enabled before the step: {', '.join(map(code, leg.flags))}"
    if leg.flags_of_plugins:
        text += f"; and those of plugins, where they are enabled: {', '.join(map(code, leg.flags_of_plugins))}"
    missing = next(release.without for release in reversed(leg.brought) if release.without)
    return [f"{text}. {WITHOUT.format(without=missing)}"]


def _checks(leg: Leg) -> Iterator[str]:
    if leg.older.series != STABLE_KHEPRI or leg.moves_metadata:
        yield "rabbitmqctl enable_feature_flag all"
    but = f" but {KHEPRI}" if leg.older.series in UNSTABLE_KHEPRI else ""
    yield f"rabbitmqctl list_feature_flags name state   # none is disabled{but}"
    if leg.drops_mirrors:
        yield "rabbitmq-diagnostics check_if_cluster_has_classic_queue_mirroring_policy"
    if leg.older.series in ("4.0", "4.1", "4.2"):
        yield "rabbitmq-diagnostics check_if_any_deprecated_features_are_used   # exit status 69 if some are"
    yield "rabbitmq-diagnostics alarms"
    yield f"rabbitmqctl export_definitions before-{leg.newer.series}.json   # and a copy of each node's data folder"


def node_lines(leg: Leg, mirrors: bool, nodes: Sequence[str] = ()) -> list[str]:
    """Return the commands for each node of a step; the shell variable NODE has the node's name."""
    name, *others = nodes or ("rabbit@host",)
    then = f"then {listing(others)}" if others else "the node whose turn it is"
    new = f"RabbitMQ {leg.newer.latest}" + (f" and Erlang {leg.newer.erlang} or later" if leg.new_erlang else "")
    mirrored = [
        f'rabbitmq-upgrade --node="$NODE" await_online_synchronized_mirror --timeout={TIMEOUT_S}',
        'rabbitmq-diagnostics --node="$NODE" check_if_node_is_mirror_sync_critical',
    ]
    return [
        f"NODE={bash_word(name)}   # {then}",
        f'rabbitmq-upgrade --node="$NODE" await_online_quorum_plus_one --timeout={TIMEOUT_S}',
        'rabbitmq-diagnostics --node="$NODE" check_if_node_is_quorum_critical',
        *(mirrored if mirrors else []),
        'rabbitmq-upgrade --node="$NODE" drain',
        'rabbitmqctl --node="$NODE" stop',
        f"# on its host: install {new}, then",
        "systemctl start rabbitmq-server",
        f'rabbitmqctl --node="$NODE" await_startup --timeout={TIMEOUT_S}',
        'rabbitmq-diagnostics --node="$NODE" check_running',
        f'rabbitmq-diagnostics --node="$NODE" {_alarms(leg)}',
        *(['rabbitmq-diagnostics --node="$NODE" metadata_store_status'] if leg.moves_metadata else []),
        f'rabbitmq-upgrade --node="$NODE" await_online_quorum_plus_one --timeout={TIMEOUT_S}   # then the next one',
    ]


def _alarms(leg: Leg) -> str:
    """Return the check for alarms of an upgraded node.

    In 4.3.6 check_local_alarms always answers that there are none.
    """
    return "alarms   # none" if leg.moves_metadata else "check_local_alarms"


def meanwhile(leg: Leg) -> list[str]:
    """Return what does not work while nodes of both releases run."""
    rows = [(plain(fact.what), plain(fact.source)) for fact in leg.mixed]
    return [f"While nodes of {leg.older.series} and {leg.newer.series} run together:", table(("what", "source"), rows)]


def afterwards(leg: Leg) -> list[str]:
    """Return the commands to type after all nodes are upgraded."""
    return [
        "### After the last node",
        block([*_enable(leg), "rabbitmqctl list_feature_flags name state", "rabbitmq-queues rebalance all"]),
    ]


def _enable(leg: Leg) -> Iterable[str]:
    if leg.newer.series == STABLE_KHEPRI:
        lines = [f"rabbitmqctl enable_feature_flag {flag}" for flag in leg.new_flags]
        return [f"# do not enable all at once: in {STABLE_KHEPRI}, {KHEPRI} is one of them, and the next step is"
                " about this flag", *lines]
    return ["rabbitmqctl enable_feature_flag all"]
