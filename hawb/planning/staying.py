"""Queues that keep their type in a move to quorum queues: why, and with which arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hawb.planning.inventory import Queue
from hawb.planning.quorum_translation import Reason, properties
from hawb.planning.refused_there import refused_arguments
from hawb.rules.arguments_read import reads
from hawb.rules.feature_matrix import Feature
from hawb.rules.owned_queues import owner
from hawb.rules.profiles import Profile
from hawb.rules.queue_types import CLASSIC, QUORUM, STREAM
from hawb.rules.streams import STREAM_PROFILES

STREAMS_SOURCE = "rabbit_stream_queue, since 3.9"


def kept_arguments(queue: Queue, target: Profile) -> dict[str, object]:
    """Return the arguments that a queue of an unchanged type keeps: its type reads them, the release takes them."""
    refused = refused_arguments(queue, target)
    given = queue.facts.arguments or {}
    return {key: value for key, value in given.items() if reads(queue.type, key) and key not in refused}


def why_it_stays(queue: Queue, mirrored: bool, target: Profile, matrix: Mapping[str, Feature]) -> Reason | None:
    """Return the reason for which a queue keeps its type without any action; None if the move concerns the queue.

    The reason blocks for a stream that would move to a release without streams.
    """
    kind = f"stays a {queue.type} queue" if queue.type in (CLASSIC, QUORUM) else "stays as it is"
    if queue.type != QUORUM and (plugin := owner(queue.name, queue.facts.arguments)) is not None:
        without = f"; in {target.release} it has no mirrors" if mirrored and not target.mirroring else ""
        return Reason("note", f"{kind}; nothing to do: {plugin.what}{without}", plugin.source)
    if queue.type == STREAM and target.version not in STREAM_PROFILES:
        return Reason("blocks", f"is a stream, which RabbitMQ {target.release} does not have", STREAMS_SOURCE)
    if queue.type == STREAM:
        return Reason("note", "stays a stream; nothing to do", STREAMS_SOURCE)
    if queue.type not in (CLASSIC, QUORUM):
        return Reason("note", f"{kind}; nothing to do: a plugin provides this queue type", "rabbit_queue_type:discover")
    temporary = [] if mirrored or queue.type == QUORUM else [*properties(queue, matrix, target.version)]
    if not temporary:
        return None
    words = ", and ".join(one.what for one in temporary)
    return Reason("note", f"{kind}; nothing to do, as it {words}", temporary[0].source)


def left_out(queue: Queue, target: Profile) -> Iterator[Reason]:
    """Yield a note on each argument that a queue of an unchanged type loses."""
    kept, refused = kept_arguments(queue, target), refused_arguments(queue, target)
    for key in queue.facts.arguments or {}:
        if key not in kept:
            unread = "such a queue does not support this setting"
            why = f"RabbitMQ {target.release} refuses this queue" if key in refused else unread
            yield Reason("note", f"argument {key}: left out: {why}", "rabbit_amqqueue:check_declare_arguments")
