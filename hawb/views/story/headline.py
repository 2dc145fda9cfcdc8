"""The headline of an outcome: messages lost or refused, what is unusable, and steps that RabbitMQ refused.

Every number comes from the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

from msgspec import Struct

from hawb.languages import N_, Plural, _, ngettext
from hawb.scenario import numbering
from hawb.scenario.outcome import late_consumers
from hawb.views.formatting import common, counted, joined, listing, size, whole

LOST = {
    "none": Plural("{messages} of {queues} is lost", "{messages} of {queues} are lost"),
    "all": Plural(
        "{messages} of {queues} is lost, and it was confirmed", "{messages} of {queues} are lost, all of them confirmed"
    ),
    "some": Plural(
        "{messages} of {queues} is lost, {confirmed} of them confirmed",
        "{messages} of {queues} are lost, {confirmed} of them confirmed",
    ),
}
"""Clauses about lost messages, by how many of them had been confirmed."""

UNTAKEN = {
    "none": Plural("no queue took {messages} for {queues}", "no queue took {messages} for {queues}"),
    "all": Plural(
        "no queue took {messages} for {queues}, though it was confirmed",
        "no queue took {messages} for {queues}, though all of them were confirmed",
    ),
    "some": Plural(
        "no queue took {messages} for {queues}, though {confirmed} of them were confirmed",
        "no queue took {messages} for {queues}, though {confirmed} of them were confirmed",
    ),
}
"""Clauses about messages that no queue took, by how many of them were confirmed nevertheless."""

TROUBLE = {
    "down": Plural("{queues} is down", "{queues} are down"),
    "minority": Plural("{queues} is without a majority", "{queues} are without a majority"),
    "syncing": Plural("{queues} is blocked by a synchronisation", "{queues} are blocked by a synchronisation"),
}
"""Clauses about queues that cannot be used, by their state."""

COMMITS_NOTHING = Plural("{queues} commits nothing", "{queues} commit nothing")

BLOCKED = {
    "memory": N_("publishers are blocked by a memory alarm"),
    "disk": N_("publishers are blocked by a disk alarm"),
}
"""Clauses about alarms, by the resource that a node is short of."""

CLOSED = Plural(
    "RabbitMQ closed consumer {consumers}, which had not acknowledged in time",
    "RabbitMQ closed consumers {consumers}, which had not acknowledged in time",
)

NOTHING_PASSES = N_("no node has noticed yet that nothing passes between {links}")
GONE = Plural("no node has noticed yet that {nodes} is gone", "no node has noticed yet that {nodes} are gone")
WAITING = Plural("{messages} for {queues} waits", "{messages} for {queues} wait")
OPERATIONS = Plural("{count} operation of a client waits", "{count} operations of clients wait")

REFUSED = Plural("RabbitMQ refused step {numbers}", "RabbitMQ refused steps {numbers}")


class Toll(Struct, frozen=True):
    """The messages with one fate: their number by queue, and how many of them had been confirmed."""

    messages: dict[str, int]
    confirmed: int

    @property
    def count(self) -> int:
        """Return the number of messages in all queues."""
        return sum(self.messages.values())


class Headline(Struct, frozen=True):
    """The first facts to show about an outcome.

    `trouble`, `disputed` (queues that the partitions see differently) and `unnoticed` (failures that no node has
    detected) are clauses. `refused` has the indices of the steps that RabbitMQ refused, and `queues` is True if there
    is any queue.
    """

    lost: Toll
    untaken: Toll
    trouble: tuple[str, ...]
    disputed: tuple[str, ...]
    refused: tuple[int, ...]
    queues: bool
    unnoticed: tuple[str, ...] = ()

    def text(self, more: Iterable[str] = ()) -> str:
        """Return the headline without capital letter and full stop, followed by the clauses in `more`."""
        of_messages = [_clause(*parts) for parts in ((LOST, self.lost), (UNTAKEN, self.untaken)) if parts[1].count]
        trouble = joined([*self.trouble, *self.disputed])
        if of_messages:
            parts = [*of_messages, *filter(None, [trouble])]
        elif trouble:
            parts = [_("nothing is lost, but {trouble}", trouble=trouble)]
        elif self.unnoticed:
            first, *later = self.unnoticed
            parts = [_("nothing is lost so far, but {trouble}", trouble=first), *later]
        else:
            in_use = N_("nothing is lost, and every queue can be used")
            parts = [_(in_use) if self.queues else _("nothing is lost, and there is no queue")]
        if self.unnoticed and (of_messages or trouble):
            parts += self.unnoticed
        if self.refused:
            numbers = listing(map(numbering.number, self.refused))
            parts.append(ngettext(*REFUSED, len(self.refused), numbers=numbers))
        return reduce(lambda one, another: _("{one}; {another}", one=one, another=another), [*parts, *more])


def headline(outcome: Mapping) -> Headline:
    """Return the headline of an outcome."""
    refused = dict.fromkeys(error["step"] for error in outcome["errors"])
    return Headline(
        _toll(outcome, "lost"), _toll(outcome, "refused"), _trouble(outcome), _disputed(outcome), tuple(refused),
        bool(_queues(outcome)), _unnoticed(outcome),
    )  # fmt: skip


def _toll(outcome: Mapping, fate: str) -> Toll:
    ledger = {name: account for name, account in outcome["ledger"].items() if account[fate]}
    confirmed = sum(size(common(account[fate], account["confirmed"])) for account in ledger.values())
    return Toll({name: size(account[fate]) for name, account in ledger.items()}, confirmed)


def _clause(forms: Mapping[str, Plural], toll: Toll) -> str:
    known = "none" if not toll.confirmed else "all" if toll.confirmed == toll.count else "some"
    queues = listing(sorted(toll.messages, key=lambda name: -toll.messages[name]))
    words = {"messages": counted(toll.count), "queues": queues, "confirmed": whole(toll.confirmed)}
    return ngettext(*forms[known], toll.count, **words)


def _trouble(outcome: Mapping) -> tuple[str, ...]:
    queues = _queues(outcome)
    parts = []
    for state, words in TROUBLE.items():
        names = [name for name, queue in queues.items() if queue["state"] == state]
        parts += [ngettext(*words, len(names), queues=listing(names))] if names else []
    alone = [name for name, queue in queues.items() if commits_nothing(queue)]
    parts += [ngettext(*COMMITS_NOTHING, len(alone), queues=listing(alone))] if alone else []
    if "metadata_store" in outcome and not outcome["metadata_store"]["writable_from"]:
        parts.append(_("metadata cannot be changed"))
    closed = [name for name in late_consumers(outcome) if is_closed(outcome, name)]
    parts += [ngettext(*CLOSED, len(closed), consumers=listing(closed))] if closed else []
    resources = sorted({alarm["resource"] for alarm in outcome.get("alarms", ())})
    return (*parts, *(_(BLOCKED[resource]) for resource in resources))


def is_closed(outcome: Mapping, consumer: str) -> bool:
    """Return True if a consumer's channel is closed."""
    return outcome["consumers"][consumer]["state"] == "closed"


def _disputed(outcome: Mapping) -> tuple[str, ...]:
    """Return a clause about the queues that running nodes see differently; ignore the last view of a paused node."""
    running = {node for node, status in outcome["nodes"].items() if status == "running"}
    names = [
        name for name, queue in _queues(outcome).items()
        if sum(not running.isdisjoint(view["nodes"]) for view in queue.get("views", ())) > 1
    ]  # fmt: skip
    return (_("the partitions do not agree about {queues}", queues=listing(names)),) if names else ()


def _unnoticed(outcome: Mapping) -> tuple[str, ...]:
    if (left := outcome.get("unnoticed")) is None:
        return ()
    parts = []
    if left["links"]:
        parts.append(_(NOTHING_PASSES, links=listing(map("–".join, left["links"]))))
    if left["nodes"]:
        parts.append(ngettext(*GONE, len(left["nodes"]), nodes=listing(left["nodes"])))
    if waiting := left["waiting"]:
        count = sum(waiting.values())
        parts.append(ngettext(*WAITING, count, messages=counted(count), queues=listing(waiting)))
    if count := left["operations"]:
        parts.append(ngettext(*OPERATIONS, count, count=whole(count)))
    return tuple(parts)


def _queues(outcome: Mapping) -> dict[str, dict]:
    return outcome["queues"] | outcome.get("queues_elsewhere", {})


def commits_nothing(queue: Mapping) -> bool:
    """Return True if a queue's leader reaches no majority although enough members run."""
    roles = [replica["role"] for replica in queue.get("replicas", {}).values()]
    return queue["state"] == "running" and "leader_alone" in roles
