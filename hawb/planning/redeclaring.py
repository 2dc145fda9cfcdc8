"""Find the applications that must change: after a move of their queue, RabbitMQ refuses their declaration.

A new vhost is added with the default queue type quorum if the release has default types, so that an application that
sends no x-queue-type declares a quorum queue there. In place, and in a new cluster, the default type stays as it is.
The rules are those of `hawb.rules.redeclaration`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hawb.exports.queue_rows import QueueFacts
from hawb.planning.inventory import Queue
from hawb.planning.refused_there import refused_arguments
from hawb.rules.profiles import Profile
from hawb.rules.queue_types import CLASSIC, QUORUM, TYPE, takes_default_type
from hawb.rules.redeclaration import RELAXED_SINCE, differing, filled_in

Sends = Literal["no type", "a type", "perhaps a type"]
"""The answers to: do applications send x-queue-type? The files do not show this if RabbitMQ may have added it."""


class Redeclaration(Struct, frozen=True):
    """The arguments for which an application that declares a queue as before gets 406.

    They are given for a new vhost, in place, and in place with relaxed checks (None: the release has none). An
    application of which it is unknown whether it sends a type is assumed to send none. `type` is the queue's type after
    the move; arguments `if_created` are refused only if the declaration would create the queue, as quorum queues do not
    support them.
    """

    type: str
    sends: Sends
    in_new_vhost: tuple[str, ...]
    in_place: tuple[str, ...]
    relaxed: tuple[str, ...] | None
    if_created: tuple[str, ...] = ()


class Today(Struct, frozen=True):
    """The settings before the move that give a type to a queue that is declared without one.

    `profile` has the rules of the release (None if no file names the release). `default_type` is the default queue type
    of the vhost (None if it has none).
    """

    profile: Profile | None
    default_type: str | None

    def sends(self, arguments: Mapping[str, object]) -> Sends:
        """Return whether applications send x-queue-type, given the arguments of a queue."""
        if TYPE not in arguments:
            return "no type"
        if self.profile is None or filled_in({}, self.default_type, self.profile).get(TYPE) == arguments[TYPE]:
            return "perhaps a type"
        return "a type"


def redeclaration(
    queue: Queue, after: Mapping[str, object], today: Today, target: Profile, new_type: str | None
) -> Redeclaration:
    """Return the arguments for which RabbitMQ refuses a declaration of the queue as before.

    `after` are the queue's arguments after the move, `new_type` is the default type of new vhosts.
    """
    given = dict(queue.facts.arguments or {})
    sends, can_relax = today.sends(given), target.version in RELAXED_SINCE
    if sends == "perhaps a type":
        del given[TYPE]
    beside = differing(given, after, new_type, target)
    if after.get(TYPE) != QUORUM:
        return Redeclaration(CLASSIC, sends, tuple(beside), (), () if can_relax else None)
    own = {key: value for key, value in given.items() if key != TYPE}
    anew = Queue(queue.vhost, queue.name, replace(queue.facts, type=QUORUM, arguments=own))
    return Redeclaration(
        type=QUORUM,
        sends=sends,
        in_new_vhost=tuple(beside),
        in_place=tuple(differing(given, after, today.default_type, target)),
        relaxed=tuple(differing(given, after, today.default_type, target, relaxed=True)) if can_relax else None,
        if_created=tuple(refused_arguments(anew, target)),
    )


def is_filled_in(facts: QueueFacts) -> bool:
    """Return True if RabbitMQ fills in the vhost's default type when the queue is declared without one."""
    return takes_default_type(facts.durable, facts.exclusive, facts.auto_delete)
