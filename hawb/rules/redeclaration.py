"""RabbitMQ's refusal of an application that declares its queue as before, once it is a quorum queue.

A declaration gets x-queue-type filled in if it has none: the default queue type of its virtual host, since 3.10.8, if
the queue is durable, not exclusive and not auto-delete, and from 4.0 on otherwise the default type of the node, which
is classic (`rabbit_channel`, queue.declare; `rabbit_amqqueue:augment_declare_args`;
`rabbit_quorum_queue:is_compatible`). The declaration is then compared with the queue, and a difference is refused with
406 (`rabbit_amqqueue:assert_equivalence`). Arguments that a quorum queue does not have are not compared.

With `quorum_queue.property_equivalence.relaxed_checks_on_redeclaration`, since 3.11.16, less is compared of a quorum
queue that is declared with x-queue-type classic, sent or filled in: no type, and of the arguments those of
`RELAXED_COMPARED` (`equivalence_check_level`, `perform_limited_equivalence_checks_on_qq_redeclaration`). A declaration
without any type, which 3.11 to 3.13 leave as it is in a virtual host without a default, is compared in full.
"""

from __future__ import annotations

from collections.abc import Mapping

from hawb.rules.profiles import Profile
from hawb.rules.queue_arguments import COMPARED, first_difference
from hawb.rules.queue_types import CLASSIC, QUORUM, TYPE
from hawb.rules.quorum_profiles import QUORUM_PROFILES

RELAXED_SETTING = "quorum_queue.property_equivalence.relaxed_checks_on_redeclaration"
RELAXED_SINCE = ("3.13", "4.0", "4.3")
"""The versions whose releases have the setting."""
RELAXED_COMPARED = (
    "x-dead-letter-exchange", "x-dead-letter-routing-key", "x-expires", "x-max-length", "x-max-length-bytes",
    "x-single-active-consumer", "x-message-ttl",
)  # fmt: skip


def filled_in(arguments: Mapping[str, object], default_type: str | None, profile: Profile) -> dict[str, object]:
    """Return the arguments of a declaration with the type that RabbitMQ fills in.

    The queue is durable, not exclusive and not auto-delete; `default_type` is that of its virtual host, None if it has
    none.
    """
    kind = default_type or (CLASSIC if profile.leader_locator else None)
    return dict(arguments) if TYPE in arguments or kind is None else {**arguments, TYPE: kind}


def differing(
    arguments: Mapping[str, object], queue: Mapping[str, object], default_type: str | None, profile: Profile, *,
    relaxed: bool = False,
) -> list[str]:  # fmt: skip
    """Return the arguments for which a declaration is refused, since they differ from the queue's arguments `queue`.

    `default_type` is that of the virtual host; `relaxed` is True if checks are relaxed.
    """
    sent = filled_in(arguments, default_type, profile)
    if queue.get(TYPE) != QUORUM:
        keys: tuple[str, ...] = COMPARED
    elif relaxed and sent.get(TYPE) == CLASSIC:
        keys = RELAXED_COMPARED
    else:
        keys = QUORUM_PROFILES[profile.version].compared
    given = sent.keys() | queue.keys()
    return [key for key in keys if key in given and first_difference(sent, queue, (key,), profile) is not None]
