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
Rates are those of the model of published figures, with its interval; its median error is {error} that it had not seen.
What counts is how fast your own consumers are: messages / (consumed - published a second). Left out are machines that
are none of the published, other load on the nodes, and consumers that do not keep up."""
IN_TURN = """\
Nothing is lost, nothing overtakes, and publishing goes on but for a new connection. What is paid is delay: what comes
during the wait is delivered when the old queue is empty. (Where order does not matter, consumers go over with the
publishers, and others empty the old queues.)"""
WITH_DEFAULT_TYPE = """\
They have the default queue type quorum, in the file of definitions too, so that the import leaves it: RabbitMQ fills it
in where an application that declares a queue sends no x-queue-type. Which applications must change nevertheless stands
in the table above."""
SAME_DEFAULT_TYPE = """\
The default queue type of a virtual host stays as it is here: more applications must change than in new virtual hosts,
as the table above says."""
UNACKNOWLEDGED = """\
Move the consumers, ask once more, and delete what is empty. A queue with messages that wait is not deleted; one whose
messages are all with consumers, unacknowledged, counts as empty there and is, with them:"""
STANDSTILL = """\
For applications that cannot connect elsewhere. The policies of the file replace those that mirror, so it is imported
when the last mirrored queue is empty. What is published to a queue that does not exist is *confirmed*, and lost: the
publishers stop first."""
ELSEWHERE = """\
The way to a release to which no upgrade leads."""
BESIDE_THE_OLD = """\
A second cluster beside the old one. No user can connect to its virtual hosts without permissions, which are in no file
of hawb: take them from the old cluster's own export, and set parameters by hand."""
DRAINING = """\
Move the publishers. Then consumers of the old cluster empty its queues, or a shovel of the new one for each queue (a
virtual host `/` is `%2f` in both URIs). It ends after as many messages as there were when it began. What the new queue
refuses (`reject-publish`) stays in the old one, and what is published there later too; what a length limit drops
is gone. Ask the old cluster what is left before it is stopped:"""
SHOVEL = """\
{"src-protocol":"amqp091","src-uri":"amqp://USER:PASSWORD@OLD-HOST/VHOST","src-queue":"QUEUE",\
"src-delete-after":"queue-length","dest-protocol":"amqp091","dest-uri":"amqp:///VHOST","dest-queue":"QUEUE",\
"ack-mode":"on-confirm"}"""
AFTER_THE_LAST = """\
Upgrade to 4.0 after the last mirrored queue has gone: a policy that still mirrors means nothing there, and each queue
under it is one copy. hawb plays one release at a time, the upgrade itself is not simulated."""


BEFORE_4_0 = """\
Every mirrored queue is moved while {series} runs, by the rules of {release}: from 4.0 on nothing is mirrored. In one of
two ways, in new virtual hosts or in place."""
AT_THE_END = """\
Quorum queues are declared by the rules of {release}, which runs now. In one of two ways, in new virtual hosts or in
place."""


UNMIRROR = """\
What still mirrors ends now, in virtual hosts that are still there; each queue under it has one replica from then on:"""
INSTEAD = """\
In place of the whole road, for those who cannot stop at each release."""
THE_REST = """\
Then the queues that could not be moved before 4.0: export definitions and listings of the new cluster, and plan their
move with `hawb migrate` and `--to {version}`."""


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
            f"Not before 4.0 can {len(waiting):,} of them be a quorum queue: {names}. What cannot be moved before"
            " crosses to 4.0 as a classic queue with one replica, and is moved at the end."
        )
    if plan.crossing is not None:
        return " ".join(lines)
    if unknown := [move for move in plan.moved if quorum_declaration.refusal(move.arguments, "", plan.source)]:
        names = plain(listing(move.queue.full_name for move in unknown))
        lines.append(
            f"{plan.source.release} would refuse to declare {names} so: for a move before the upgrade plan with"
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
        "Ask the developers of the applications what no file says. Quorum queues do not have these features:",
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
        return ["## How long it takes", NOTHING_TO_WAIT_FOR]
    rows = [
        (code(one.queue), f"{one.messages:,}", f"{one.size_bytes:,}{' (assumed)' if one.assumed else ''}", *_least(one))
        for one in drains[:MOST_DRAINS]
    ]
    total = counted(sum(one.messages for one in drains))
    listed = f" (the {MOST_DRAINS} deepest)" if len(drains) > MOST_DRAINS else ""
    found = [one.rate for one in drains if one.rate is not None]
    error = f"{found[0].error:.0%} on {found[0].rows} figures" if found else "not known"
    return [
        "## How long it takes",
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
    parts = ["## Afterwards", "Each queue has its members, spread over the nodes, and its leader:"]
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
