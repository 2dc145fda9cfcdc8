"""Make each single change that an operator or developer could have made to a scenario, or say why it is impossible.

A change is made to the scenario document, so the checks for a scenario file apply to it too. Which changes are tried
depends on the queue before the harmful step: its type, its policy, its clients. A policy change is made in the policy
that decides the setting, wherever the scenario sets it; it affects every queue that the policy matches.

Three things are not tried, as they are not single choices: pause_if_all_down (which nodes?), another net_ticktime (how
long?), another order of the steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy

from hawb.engine.core.naming import described
from hawb.engine.core.state import CLASSIC, QUORUM
from hawb.languages import N_, _
from hawb.planning.harm import Harm
from hawb.planning.story import Change, Story
from hawb.rules import quorum_declaration
from hawb.rules.policies import HaMode, effective_definition
from hawb.rules.queue_arguments import OF_OTHER_TYPES
from hawb.scenario import numbering
from hawb.scenario.beginning import MICROSECONDS, arguments_of
from hawb.scenario.run import Run

POLICIES, OPERATOR_POLICIES = ("policies", "set_policy"), ("operator_policies", "set_operator_policy")
"""Fields with policies of each kind: that of the initial policies, and the verb of the steps that set them."""

ON_MIRRORS = ("sync_queue", "cancel_sync_queue")
HANDLINGS = ("ignore", "pause_minority", "autoheal")
CHOICES = {
    "ha-promote-on-failure": ("always", "when-synced"),
    "ha-promote-on-shutdown": ("when-synced", "always"),
    "ha-sync-mode": ("manual", "automatic"),
}
"""Keys of a mirroring policy that decide when a mirror is promoted: their values, RabbitMQ's default first."""

QUORUM_ARGUMENTS = OF_OTHER_TYPES | {"x-queue-type"}
"""Arguments of a quorum queue that a classic queue does not need."""

COMMANDS = (
    "force_boot", "forget_cluster_node", "reset", "force_reset", "force_standalone_khepri_boot", "force_shrink",
    "delete_member", "shrink", "cancel_sync_queue", "set_policy", "clear_policy", "set_operator_policy",
    "clear_operator_policy",
)  # fmt: skip
"""Verbs of commands that an operator could leave out."""

AFTERWARDS_S = 0.001
"""Delay between the end of a synchronisation and a step that waits for it; without it the step would come first."""


def changes(run: Run, harm: Harm) -> list[Change]:
    """Return every single change to try; none if the queue is unknown before the harm and after it."""
    story = Story(run, harm)
    return [] if story.queue is None else [change for propose in PROPOSALS for change in propose(story)]


# Policies


def other_values(story: Story) -> Iterator[Change]:
    """Yield each key of the mirroring policy with its other value."""
    if story.queue.type != CLASSIC or story.mirroring is None:
        return
    for key, values in CHOICES.items():
        now = effective_definition(*story.policies).get(key, values[0])
        other = next(value for value in values if value != now)
        yield in_policy(story, f"{key}: {other}", {key: other}, key)


def in_policy(story: Story, what: str, settings: Mapping[str, object], key: str) -> Change:
    """Add settings to the policy that decides about `key`, in every place where the scenario sets it."""
    policy, operator_policy = story.policies
    by_operator = operator_policy is not None and (policy is None or key in operator_policy.definition)
    decides, kind = (operator_policy, OPERATOR_POLICIES) if by_operator else (policy, POLICIES)
    document = deepcopy(story.document)
    at_start, verb = kind
    for entry in [*document.get(at_start, ()), *(step[verb] for step in document["steps"] if verb in step)]:
        if (entry["name"], entry.get("vhost", "/")) == (decides.name, decides.vhost):
            entry["definition"] |= settings
    where = N_("operator policy {name}") if by_operator else N_("policy {name}")
    return story.change(what, _(where, name=decides.name), document)


def one_more_mirror(story: Story) -> Iterator[Change]:
    """Yield the change that adds a mirror to a classic queue."""
    if story.queue.type != CLASSIC:
        return
    now, nodes = story.mirroring, story.nodes
    if now is None:
        yield mirrored(story)
    elif now.mode is HaMode.ALL:
        yield story.impossible(_("one more mirror"), _("with ha-mode all, each node of the cluster has one already"))
    elif now.mode is HaMode.EXACTLY and now.count >= len(nodes):
        reason = N_("the cluster has {count} nodes, and each has a replica")
        yield story.impossible(_("one more mirror"), _(reason, count=len(nodes)))
    elif now.mode is HaMode.EXACTLY:
        count = now.count + 1
        what = _("one more mirror (ha-params: {count})", count=count)
        yield standing_with(story, in_policy(story, what, {"ha-params": count}, "ha-mode"), 1)
    elif others := [node for node in nodes if node not in now.nodes]:
        what, listed = _("one more mirror, on {node}", node=others[0]), [*now.nodes, others[0]]
        yield standing_with(story, in_policy(story, what, {"ha-params": listed}, "ha-mode"), 1)
    else:
        yield story.impossible(_("one more mirror"), _("ha-mode nodes lists every node of the cluster already"))


def mirrored(story: Story) -> Change:
    """Return the change that mirrors an unmirrored queue: in its own policy, or in a new one that matches only it."""
    what, settings = _("a mirror (ha-mode: exactly, ha-params: 2)"), {"ha-mode": "exactly", "ha-params": 2}
    if story.policies[0] is not None:
        return standing_with(story, in_policy(story, what, settings, "ha-mode"), 1)
    document = with_own_policy(story, settings)
    return standing_with(story, story.change(what, _("a policy for this queue"), document), 1)


def with_own_policy(story: Story, settings: Mapping[str, object]) -> dict:
    """Return the scenario document with a policy from the start that matches only this queue."""
    document = deepcopy(story.document)
    name, taken = "what-if", {policy.name for policy in story.before.state.policies}
    while name in taken:
        name += "+"
    policy = {"name": name, "pattern": f"^{re.escape(story.name)}$", "definition": settings, "vhost": story.vhost}
    document["policies"] = [*document.get("policies", ()), policy]
    return document


def standing_with(story: Story, change: Change, more: int) -> Change:
    """Return the change with replicas added to the queue's initial placement.

    Policies place only queues that are declared later; a queue whose initial nodes are given needs them in its entry.
    The new replica is synchronised from the start.
    """
    for entry in story.entries(change.document):
        field = "mirrors" if "master" in entry else "members"
        taken = [entry.get("master"), *entry.get(field, ())]
        new = [node for node in story.nodes if node not in taken][:more]
        if "master" in entry:
            entry["synchronised_mirrors"] = [*entry.get("synchronised_mirrors", ()), *new]
        if "master" in entry or "members" in entry:
            entry[field] = [*entry.get(field, ()), *new]
    return change


# The queue


def more_members(story: Story) -> Iterator[Change]:
    """Yield the change to the next odd number of members of a quorum queue; an even one survives no more failures."""
    if story.queue.type != QUORUM:
        return
    size, nodes = len(story.queue.members), len(story.nodes)
    wanted = size + 1 + size % 2
    what = _("{count} members", count=wanted)
    if wanted > nodes:
        yield story.impossible(what, _("the cluster has {count} nodes", count=nodes))
        return
    document = deepcopy(story.document)
    for given in [*story.arguments(document, "declare"), *story.entries(document)]:
        given["arguments"] = given.get("arguments", {}) | {"x-quorum-initial-group-size": wanted}
    yield standing_with(story, story.change(what, "x-quorum-initial-group-size", document), wanted - size)


def as_quorum_queue(story: Story) -> Iterator[Change]:
    """Yield the change that declares a classic queue as a quorum queue."""
    if story.queue.type != CLASSIC:
        return
    what, document = _("a quorum queue"), deepcopy(story.document)
    for given in story.arguments(document, "declare"):
        given["arguments"] = given.get("arguments", {}) | {"x-queue-type": QUORUM}
    for step in document["steps"]:
        for verb in ON_MIRRORS:
            if story.names_queue(step.get(verb)):
                del step[verb]
                step["wait"] = 0
    for entry in story.entries(document):
        refused = quorum_declaration.refusal(
            dict(arguments_of(entry.get("arguments", {}))), described(story.harm.queue), story.run.settings.profile,
            durable=entry.get("durable", True), auto_delete=entry.get("auto_delete", False),
        )  # fmt: skip
        if refused:
            yield story.impossible(what, refused)
            return
        stand_as_quorum_queue(story, entry)
    yield story.change(what, "x-queue-type: quorum", document)


def stand_as_quorum_queue(story: Story, entry: dict) -> None:
    """Change the entry of an initial classic queue into that of a quorum queue.

    The members are on the nodes of its replicas, filled up to the usual number; the former master's node leads.
    """
    master, mirrors = entry.pop("master", None), entry.pop("mirrors", [])
    for field in ("synchronised_mirrors", "recoverable_mirrors"):
        entry.pop(field, None)
    entry["type"] = QUORUM
    if master is not None:
        replicas = dict.fromkeys([master, *mirrors, *story.nodes])
        entry["members"] = list(replicas)[: max(story.run.settings.quorum_cluster_size, 1 + len(mirrors))]
        entry["leader"] = master


def as_mirrored_queue(story: Story) -> Iterator[Change]:
    """Yield the change from a quorum queue to a mirrored one with as many replicas, by a policy for it alone."""
    if story.queue.type != QUORUM:
        return
    size = len(story.queue.members)
    document = with_own_policy(story, {"ha-mode": "exactly", "ha-params": size})
    for given in [*story.arguments(document, "declare"), *story.entries(document)]:
        arguments = given.get("arguments", {})
        given["arguments"] = {key: arguments[key] for key in arguments if key not in QUORUM_ARGUMENTS}
    for entry in story.entries(document):
        members, leader = entry.pop("members", []), entry.pop("leader", None)
        entry.pop("stopped_members", None)
        entry["type"] = CLASSIC
        if leader is not None:
            mirrors = [node for node in members if node != leader]
            entry |= {"master": leader, "mirrors": mirrors, "synchronised_mirrors": mirrors}
    what = _("a mirrored queue (ha-mode: exactly, ha-params: {count})", count=size)
    yield story.change(what, _("a policy for this queue"), document)


def lasting(story: Story) -> Iterator[Change]:
    """Yield changes of options that lose messages: durable, persistent, confirms, manual acknowledgements etc."""
    fields: tuple[tuple[str, object, object, tuple[str, ...], str], ...] = (
        ("durable", False, True, ("declare",), N_("a durable queue")),
        ("exclusive", True, False, ("declare",), N_("a queue that is not exclusive")),
        ("persistent", False, True, ("publish", "publisher"), N_("persistent messages")),
        ("mode", "plain", "confirm", ("publish", "publisher"), N_("publisher confirms")),
        ("ack", "auto", "manual", ("consume",), N_("acknowledgements by the consumer")),
    )
    for field, is_, better, verbs, what in fields:
        document = deepcopy(story.document)
        entries = [*story.arguments(document, *verbs), *(story.entries(document) if field == "durable" else ())]
        given = [one for one in entries if one.get(field) == is_]
        for one in given:
            one[field] = better
        if given:
            yield story.change(_(what), f"{field}: {str(better).lower()}", document)


# The cluster and the steps


def other_handlings(story: Story) -> Iterator[Change]:
    """Yield the changes to each other cluster_partition_handling, if the run had a partition."""
    trace = story.run.moment().trace()
    if not any(entry.event == "links_cut" for entry in trace):
        return
    now = story.document["cluster"].get("cluster_partition_handling", HANDLINGS[0])
    for handling in HANDLINGS:
        if handling != now:
            document = deepcopy(story.document)
            document["cluster"]["cluster_partition_handling"] = handling
            yield story.change(f"cluster_partition_handling: {handling}", _("every node"), document)


def controlled_stop(story: Story) -> Iterator[Change]:
    """Yield the change from a kill or power failure to a controlled shutdown."""
    step = story.steps[story.harm.step]
    for verb in ("kill", "power_off"):
        if verb in step:
            document = deepcopy(story.document)
            changed = document["steps"][story.harm.step]
            changed["stop"] = changed.pop(verb)
            what = _("a controlled stop in place of the {verb}", verb=verb)
            yield story.change(what, _("step {number}", number=numbering.number(story.harm.step)), document)


def left_out(story: Story) -> Iterator[Change]:
    """Yield the scenario without the harmful step if that is an operator's command.

    For forget_cluster_node and commands like it, also yield a start of the node beforehand.
    """
    index = story.harm.step
    [verb] = (verb for verb in story.steps[index] if verb != "at")
    if verb not in COMMANDS:
        return
    where = _("step {number}", number=numbering.number(index))
    if verb == "forget_cluster_node":
        given = story.steps[index][verb]
        node = given["node"] if isinstance(given, dict) else given
        document = deepcopy(story.document)
        document["steps"].insert(index, {"start": node})
        what = _("a start of {node} before it is forgotten", node=node)
        yield Change(what, where, index + 1, document)
    document = deepcopy(story.document)
    step = document["steps"][index]
    del step[verb]
    step["wait"] = 0
    yield story.change(_("no {verb}", verb=verb), where, document)


def synchronised_before(story: Story) -> Iterator[Change]:
    """Yield sync_queue before the step, and the step once the queue is synchronised.

    Later steps with a time are delayed by as much.
    """
    if story.queue.type != CLASSIC or story.mirroring is None:
        return
    index, sync = story.harm.step, {"sync_queue": story.harm.queue}
    run = Run(story.run.scenario)
    for step in story.run.steps[:index]:
        run.apply(step)
    run.apply_plain(sync)
    done_s = run.moment().state.time_us / MICROSECONDS
    document = deepcopy(story.document)
    later = document["steps"][index:]
    first_s = next((step["at"] for step in later if "at" in step), done_s)
    for step in later:
        if "at" in step:
            step["at"] += max(0.0, done_s + AFTERWARDS_S - first_s)
    document["steps"][index:index] = [sync]
    what = _("sync_queue, completed before the {verb}", verb=story.run.steps[index].name)
    yield Change(what, _("step {number}", number=numbering.number(index)), index + 1, document)


PROPOSALS: tuple[Callable[[Story], Iterator[Change]], ...] = (
    other_values,
    one_more_mirror,
    synchronised_before,
    controlled_stop,
    left_out,
    as_quorum_queue,
    more_members,
    other_handlings,
    lasting,
)
