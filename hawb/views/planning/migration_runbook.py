"""The runbook of a migration to quorum queues, as Markdown: what to do in which order, commands, and outages.

Names are untrusted input. In text they are in code spans, in commands they are quoted for a shell, and no name can end
either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hawb.planning.crossing import later
from hawb.planning.migrated_definitions import beside, vhosts
from hawb.planning.migration import Crossing, Migration, Move
from hawb.rules import quorum_declaration
from hawb.rules.feature_matrix import Feature
from hawb.rules.profiles import HA_SETTINGS, PROFILES
from hawb.rules.quorum import is_critical
from hawb.study.draining import Drain
from hawb.views.formatting import counted, left, listing
from hawb.views.markdown import bash_word, block, code, plain, table
from hawb.views.planning import applications, road_runbook
from hawb.views.rules.policy_commands import clear_arguments, set_arguments

DEFINITIONS, BESIDE, STANDING = "definitions.json", "definitions-beside.json", "definitions-in-place.json"
"""The files to import.

The first is for a new cluster, and in place if no upgrade step comes in between; the second for new virtual hosts; the
third in place before such a step.
"""

MOST_DRAINS = 10
"""The maximum number of queues in the list of the deepest queues."""

Rows = Sequence[Sequence[str]]

NEW_VHOST = (
    ("1. add the virtual hosts, and permissions on them", "goes on", "goes on"),
    ("2. import the definitions into them", "goes on", "goes on"),
    ("3. move the publishers", "pauses while clients reconnect", "continues, from the old queues"),
    ("4. wait until the old queues are empty", "goes on", "continues, from the old queues; new messages wait"),
    ("5. move the consumers", "goes on", "pauses while clients reconnect"),
    ("6. delete the old queues, if empty", "goes on", "goes on"),
)
IN_PLACE = (
    ("1. stop the publishers", "**stops**", "goes on"),
    ("2. wait until the queue is empty", "**none**", "goes on"),
    ("3. stop the consumers, delete the queue, if empty", "**none**", "**stops**"),
    ("4. import the definitions", "**none**", "**none**"),
    ("5. start consumers and publishers, which declare it again", "starts", "starts"),
)
NEW_CLUSTER = (
    ("1. import the definitions into the new cluster, and set users", "goes on", "goes on"),
    ("2. move the publishers", "pauses while clients reconnect", "continues, from the old cluster"),
    ("3. wait until the old queues are empty", "goes on", "continues, from the old cluster; new messages wait"),
    ("4. move the consumers", "goes on", "pauses while clients reconnect"),
    ("5. stop the old cluster", "goes on", "goes on"),
)
WAYS = ("step", "publishing", "consuming")

NOTHING_TO_WAIT_FOR = "No queue to be moved holds messages according to the files, or no listing was given."
NOTHING_MOVES = """\
No queue is to be moved."""
WHAT_THE_TIMES_ARE = """\
The rates come from a model of published figures, with its interval; its median error is {error} that it had not
seen. The speed of your own consumers decides: messages / (consumed - published a second). The model leaves out
machines for which no figures were published, other load on the nodes, and consumers that do not keep up."""
IN_TURN = """\
No message is lost, messages keep their order, and publishers pause only to connect again. The price is a delay:
messages that arrive during the wait are delivered when the old queue is empty. (If order does not matter, move the
consumers together with the publishers, and let other consumers empty the old queues.)"""
WITH_DEFAULT_TYPE = """\
The new virtual hosts have the default queue type quorum. The definitions file says the same, so the import keeps it.
RabbitMQ fills this type in if an application declares a queue without x-queue-type. The table above lists the
applications that must change nevertheless."""
SAME_DEFAULT_TYPE = """\
This way does not change the default queue type of a virtual host. Therefore more applications must change than with
new virtual hosts; the table above lists them."""
UNACKNOWLEDGED = """\
Move the consumers, list the queues once more, and delete those that are empty. RabbitMQ does not delete a queue with
ready messages. But if all messages of a queue are unacknowledged, RabbitMQ counts it as empty and deletes it with
them:"""
STANDSTILL = """\
Use this way for applications that cannot connect to another virtual host or cluster. The policies of the file replace
those that mirror, so import it when the last mirrored queue is empty. RabbitMQ *confirms* messages to a queue that
does not exist, and loses them: stop the publishers first."""
ELSEWHERE = """\
Use this way if no upgrade leads to the new release."""
BESIDE_THE_OLD = """\
Set up a second cluster beside the old one. Users need permissions to connect to its virtual hosts, and hawb's files
contain none: take them from the old cluster's own export, and set parameters by hand."""
DRAINING = """\
Move the publishers. Then let consumers of the old cluster empty its queues, or let a shovel in the new cluster do it
for each queue (write a virtual host `/` as `%2f` in both URIs). A shovel ends after as many messages as the queue
had when it began. Messages that the new queue refuses (`reject-publish`) stay in the old queue, as do messages that
are published there later. Messages that a length limit drops are lost. Before you stop the old cluster, list what is
left there:"""
SHOVEL = """\
{"src-protocol":"amqp091","src-uri":"amqp://USER:PASSWORD@OLD-HOST/VHOST","src-queue":"QUEUE",\
"src-delete-after":"queue-length","dest-protocol":"amqp091","dest-uri":"amqp:///VHOST","dest-queue":"QUEUE",\
"ack-mode":"on-confirm"}"""
AFTER_THE_LAST = """\
Upgrade to 4.0 after the last mirrored queue is gone: in 4.0 a policy that mirrors has no effect, and each queue
under it has one replica. hawb simulates one release at a time; it does not simulate the upgrade itself."""


BEFORE_4_0 = """\
Move every mirrored queue while {series} runs, by the rules of {release}: from 4.0 on no queue is mirrored. There are
two
ways: in new virtual hosts, or in place."""
AT_THE_END = """\
Declare the quorum queues by the rules of {release}, which runs now. There are two ways: in new virtual hosts, or in
place."""


UNMIRROR = """\
Now remove the policies that still mirror, in virtual hosts that still exist. Each queue under them has one replica
from then on:"""
INSTEAD = """\
Use this way instead of all steps above if you cannot stop at each release."""
THE_REST = """\
Then move the queues that could not be moved before 4.0: export definitions and listings of the new cluster, and plan
the move with `hawb migrate` and `--to {version}`."""


def runbook(plan: Migration, drains: Sequence[Drain], matrix: Mapping[str, Feature]) -> str:
    """Return the text of the runbook."""
    parts = [
        f"# To quorum queues of RabbitMQ {plan.target.release}",
        _summary(plan),
        *_road(plan),
        *_before(plan, matrix),
        *(_waiting(drains) if plan.moving.moved else [NOTHING_MOVES]),
        *(_all_steps(plan, plan.crossing) if plan.crossing else _both_ways(plan) if plan.moved else []),
        *(_new_cluster(plan) if plan.crossing or plan.moved else []),
        *(_afterwards(plan) if plan.moved else []),
    ]
    return "\n\n".join(parts) + "\n"


def _both_ways(plan: Migration) -> list[str]:
    return [*_new_vhosts(plan), *_in_place(plan, DEFINITIONS)]


def _road(plan: Migration) -> list[str]:
    crossing = plan.crossing
    if crossing is None:
        return []
    move_at = None if crossing.before is None or not plan.moving.moved else crossing.moves_before
    bare = [move.queue.full_name for move in plan.moves if move.queue.type == "quorum" and _is_bare(move)]
    return [*road_runbook.overview(crossing.legs, move_at),
            *road_runbook.never_more(bare if len(plan.nodes) != 1 else []),
            *road_runbook.refused_parts(crossing.refused, plan.target.release)]  # fmt: skip


def _is_bare(move: Move) -> bool:
    members = len(move.queue.facts.members or ())
    return members > 0 and is_critical(members, members)


def _all_steps(plan: Migration, crossing: Crossing) -> Iterator[str]:
    """Yield the steps of the upgrade in order, with the migration among them."""
    moves_before, goal = crossing.moves_before, plan.target.version
    moves = bool(plan.moving.moved)
    for number, leg in enumerate(crossing.legs):
        if moves and number == moves_before:
            yield from _move(plan.moving, number + 1, leg.older.series)
        turn = number + 1 + (moves and number >= moves_before)
        mirrors = number < moves_before and crossing.before is not None
        first = _unmirror(plan) if leg.drops_mirrors else []
        yield from road_runbook.step(leg, f"Step {turn}: {leg.name}", goal, plan.nodes, mirrors, first)
    if moves and moves_before == len(crossing.legs):
        yield from _move(plan, moves_before + 1, goal)


def _unmirror(plan: Migration) -> list[str]:
    """Return the commands after which no policy mirrors: today's policies in the form of the target release."""
    lines = []
    for one in plan.splits:
        if HA_SETTINGS & one.policy.definition.keys():
            kept = [part for part in one.parts if part.policy.name == one.policy.name]
            lines += [_line(*set_arguments(part.policy, one.operator)) for part in kept]
            lines += [] if kept else [_line(*clear_arguments(one.policy, one.operator))]
    return [UNMIRROR, block(lines)] if lines else []


def _move(plan: Migration, turn: int, series: str) -> list[str]:
    text = BEFORE_4_0 if plan.target.mirroring else AT_THE_END
    return [
        f"## Step {turn}: the move to quorum queues, on {series}",
        text.format(series=series, release=plan.target.release),
        *_lower(_new_vhosts(plan)),
        *_lower(_in_place(plan, STANDING if plan.target.mirroring else DEFINITIONS)),
    ]


def _lower(parts: list[str]) -> list[str]:
    """Return a section with its heading one level lower, as part of a step."""
    return [f"#{parts[0]}", *parts[1:]]


def _summary(plan: Migration) -> str:
    counts = plan.counts
    text = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in counts)
    lines = [f"The running release is treated as {plain(plan.runs)}. Of {len(plan.moves):,} queues: {text}."]
    if left_out := plan.routing.left:
        text = ", ".join(f"{number:,} {what}" for what, number in left_out.items())
        lines.append(f"Left out of every file, because they can contain secrets: {text}. Set them by hand.")
    if waiting := later(plan):
        names = plain(listing(move.queue.full_name for move in waiting))
        lines.append(
            f"{len(waiting):,} of them cannot be quorum queues before 4.0: {names}. Each of these is a classic queue"
            " with one replica during the upgrade to 4.0, and is moved at the end."
        )
    if plan.crossing is not None:
        return " ".join(lines)
    if unknown := [move for move in plan.moved if quorum_declaration.refusal(move.arguments, "", plan.source)]:
        names = plain(listing(move.queue.full_name for move in unknown))
        lines.append(
            f"{plan.source.release} would refuse this declaration of {names}. To move them before the upgrade, plan"
            " with"
            f" `--to {plan.source.version}`."
        )
    return " ".join(lines)


def _before(plan: Migration, matrix: Mapping[str, Feature]) -> list[str]:
    version = plan.target.version
    client = [
        (feature.what, cell.how or ("ignored" if cell.ignored else "refused"), cell.source)
        for feature in matrix.values()
        if feature.declare is None and (cell := feature.cell("quorum", version)).answer != "yes"
    ]
    parts = [
        "## Before",
        "Keep a copy of the present definitions. It contains password hashes and parameters: store it safely.",
        block(["rabbitmqctl export_definitions before.json"]),
        "No file says whether applications use these features, which quorum queues do not have. Ask their developers:",
        table(("feature", "what happens to it", "source"), client),
    ]
    if plan.clashes:
        rows = [(clash.code, code(clash.name), plain(clash.what)) for clash in plan.clashes]
        parts += ["Conflicts to resolve first:", table(("conflict", "where", "what"), rows)]
    if (declared := applications.table(plan)).rows:
        rows = [tuple(plain(cell) for cell in row) for row in declared.rows]
        parts += [f"{applications.CAPTION}:", table(declared.columns, rows), plain(applications.NOTE)]
    if kept := plan.with_verdict("not", "stays"):
        rows = [(code(move.queue.full_name), plain("; ".join(one.what for one in move.reasons))) for move in kept]
        parts += ["These are not moved:", table(("queue", "why"), rows)]
    return parts


def _waiting(drains: Sequence[Drain]) -> list[str]:
    if not drains:
        return ["## How long the move takes", NOTHING_TO_WAIT_FOR]
    rows = [
        (code(one.queue), f"{one.messages:,}", f"{one.size_bytes:,}{' (assumed)' if one.assumed else ''}", *_least(one))
        for one in drains[:MOST_DRAINS]
    ]
    total = counted(sum(one.messages for one in drains))
    listed = f" (the {MOST_DRAINS} deepest)" if len(drains) > MOST_DRAINS else ""
    found = [one.rate for one in drains if one.rate is not None]
    error = f"{found[0].error:.0%} on {found[0].rows} figures" if found else "not known"
    return [
        "## How long the move takes",
        f"By the files: {total} in {counted(len(drains), 'queue')} to be moved. Emptying one takes{listed}:",
        table(("queue", "messages", "bytes each", "read at most", "takes at least"), rows),
        WHAT_THE_TIMES_ARE.format(error=error),
    ]


def _least(drain: Drain) -> tuple[str, str]:
    """Return the maximum rate at which a queue can be read, and the minimum time to empty it, in words."""
    if drain.rate is None:
        return "not measured", "not known"
    rate, (least, about, most) = drain.rate, drain.seconds
    rate_text = f"{rate.value:,.0f}/s, {rate.low:,.0f} to {rate.high:,.0f}"
    return rate_text, f"{_time(about)}, {_time(least)} to {_time(most)}" if most >= 1 else _time(most)


def _time(duration_s: float) -> str:
    return left(duration_s) if duration_s >= 1 else "under 1 s"


def _new_vhosts(plan: Migration) -> list[str]:
    """Return the section on the migration through new virtual hosts."""
    names = beside(plan)
    moved = plan.moved
    used = [vhost for vhost in vhosts(plan) if any(move.queue.vhost == vhost for move in moved)]
    default = ["--default-queue-type", plan.new_default_type] if plan.new_default_type else []
    lines = []
    for vhost in used:
        lines += [
            _line("add_vhost", names[vhost], *default),
            _line("list_permissions", "-p", vhost) + "   # give users the same on the next",
            _line("set_permissions", "-p", names[vhost]) + " USER CONFIGURE WRITE READ",
        ]
    return [
        "## In new virtual hosts of the same cluster",
        IN_TURN,
        *([WITH_DEFAULT_TYPE] if default else []),
        table(WAYS, NEW_VHOST),
        block([
            *lines,
            f"rabbitmqctl import_definitions {BESIDE}",
            *(_line("list_queues", "-p", names[vhost], "name", "type", "policy", "leader", "members", "online")
              for vhost in used),
        ]),
        "Move the publishers, and repeat this until no messages are left:",
        block([_line("list_queues", "-p", vhost, "name", "messages", "consumers") for vhost in used]),
        UNACKNOWLEDGED,
        block([_delete(move) for move in moved]),
    ]  # fmt: skip


def _in_place(plan: Migration, file: str) -> list[str]:
    gone = [one for one in plan.splits if one.policy.name not in {part.policy.name for part in one.parts}]
    clear = [_line(*clear_arguments(one.policy, one.operator)) for one in gone]
    parts = [
        "## In place",
        STANDSTILL,
        *([SAME_DEFAULT_TYPE] if any(_is_refused_in_place(move) for move in plan.moved) else []),
        table(WAYS, IN_PLACE),
        "Delete the queues with the commands above. Then:",
        block([f"rabbitmqctl import_definitions {file}"]),
    ]
    if clear:
        parts += ["These policies have no settings left; clear them:", block(clear)]
    if not PROFILES[plan.target.version].declare_knows_type:
        parts.append("In 3.8, any matching policy applies to a new quorum queue until policies change: set one"
                     " policy again after the import.")  # fmt: skip
    return parts


def _is_refused_in_place(move: Move) -> bool:
    return move.redeclaration is not None and bool(move.redeclaration.in_place)


def _new_cluster(plan: Migration) -> list[str]:
    return [
        "## In a new cluster",
        f"{ELSEWHERE if plan.crossing is None else INSTEAD} {BESIDE_THE_OLD}",
        table(WAYS, NEW_CLUSTER),
        block([
            f"rabbitmqctl import_definitions {DEFINITIONS}   # on the new cluster, as all that follows",
            "jq '{users, permissions, topic_permissions}' before.json > users.json   # with password hashes",
            "rabbitmqctl import_definitions users.json",
            *(_line("list_permissions", "-p", vhost) for vhost in vhosts(plan)),
        ]),
        DRAINING,
        block([
            "rabbitmq-plugins enable rabbitmq_shovel   # on each node",
            f"rabbitmqctl set_parameter -p VHOST shovel 'drain QUEUE' '{SHOVEL}'",
            "rabbitmqctl list_parameters -p VHOST   # a shovel that has ended is not there any more",
            "rabbitmqctl list_queues -p VHOST name messages   # on the old cluster",
        ]),
    ]


def _afterwards(plan: Migration) -> list[str]:
    parts = ["## Afterwards", "Check that each queue has its members, spread over the nodes, and a leader:"]
    parts.append(block(["rabbitmq-queues check_if_node_is_quorum_critical", "rabbitmq-queues rebalance quorum"]))
    if later(plan):
        parts.append(THE_REST.format(version=plan.target.version))
    if not plan.target.mirroring and plan.crossing is None:
        parts.append(AFTER_THE_LAST)
    return parts


def _delete(move: Move) -> str:
    vhost, name = move.queue.vhost, move.queue.name
    return _line("delete_queue", "-p", vhost, "--if-empty", *(["--"] if name.startswith("-") else []), name)


def _line(*arguments: str) -> str:
    return " ".join(["rabbitmqctl", *map(bash_word, arguments)])
