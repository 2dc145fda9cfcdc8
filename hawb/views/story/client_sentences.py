"""The sentences about what clients send, get and are told: a part of `sentences`."""

from __future__ import annotations

CLIENT_SENTENCES: dict[str, tuple[str, str | dict[object, str]]] = {
    "messages_published": (
        "plain",
        {
            False: "{Ids} {were} published to {queues} and reached {replicas}.",
            True: "{Ids} {were} published to {queues} and committed by a majority ({replicas}).",
        },
    ),
    "messages_confirmed": ("plain", "The publisher got a confirm for {ids} of {queues}."),
    "messages_nacked": ("refusal", "The publisher got a nack for {ids} of {queues}."),
    "transaction_committed": ("plain", "The publisher was told that its transaction is committed: {ids} of {queues}."),
    "transaction_failed": (
        "refusal",
        "The publisher's channel was closed instead of committing its transaction: {ids} of {queues}.",
    ),
    "messages_unanswered": (
        "refusal",
        {
            "client_node_gone": "The publisher of {ids} to {queues} will never be told what became of them: its "
            "connection went with its node.",
            "connection_closed": "The publisher of {ids} to {queues} will never be told what became of them: its "
            "connection was closed.",
        },
    ),
    "messages_refused": (
        "refusal",
        {
            "home_node_down": "No queue took {ids}: the node of {queues} is down, and it has no mirrors.",
            "master_died": "No queue took {ids}: they waited for the master of {queues} and went with it.",
            "master_stopped": "No queue took {ids}: the master of {queues} was shut down and no mirror may serve it.",
            "no_master": "No queue took {ids}: {queues} has lost its master and no mirror may serve it.",
            "crashed": "No queue took {ids}: the process of {queues} has crashed for good.",
            "no_queue": "No queue took {ids}: there is no {queues}.",
            "max_length": "{queues} refused {ids}: it was full.",
            "client_node_gone": "{Ids} did not reach {queues}: the node that the publisher was connected to is gone.",
            "connection_closed": "{Ids} did not reach {queues}: the publisher's connection was blocked, and then "
            "closed.",
            "no_majority": "{Ids} did not reach {queues}: no leader answered the publisher's channel in time.",
        },
    ),
    "messages_delivered": (
        "plain",
        {
            False: "{Ids} of {queues} {were} delivered to {consumer}.",
            True: "{Ids} of {queues} {were} delivered to {consumer}, {redelivered} marked as redelivered.",
        },
    ),
    "messages_acknowledged": ("plain", "{Consumer} acknowledged {ids} of {queues}, and the queue let go of them."),
    "answers_misplaced": (
        "fault",
        "{Consumer} answered for {meant} of {queues}, which a master that is gone had delivered: the present one takes "
        "it for an answer for what has the same place there, {ids}.",
    ),
    "acknowledgement_ignored": (
        "fault",
        "{Consumer} answered for {ids} of {queues}, but the master that had delivered them is gone: nobody heard it.",
    ),
    "messages_requeued": (
        "plain",
        {
            "nack": "{Ids} of {queues} went back to their place, to be delivered again: the client gave them back.",
            "consumer_gone": "{Ids} of {queues} went back to their place, to be delivered again: their client is gone.",
            "timed_out": "{Ids} of {queues} went back to their place, to be delivered again: their time was over.",
            "out_of_reach": "{Ids} of {queues} went back to their place, to be delivered again: their client has been "
            "out of reach for too long.",
        },
    ),
    "messages_delayed": ("plain", "{Ids} of {queues} {were} given back and will be ready again in {wait_s} s."),
    "messages_retried": ("plain", "{Ids} of {queues} {were} ready again, to be delivered once more."),
    "messages_expired": ("plain", "{Ids} of {queues} {were} at its head and had outlived the time to live."),
    "messages_dropped": (
        "refusal",
        {
            "maxlen": "{queues} was too long and dropped {ids} from its head.",
            "delivery_limit": "{queues} dropped {ids}, given back more often than its delivery limit allows.",
            "other_strategy": "{queues} dropped {ids}, dead letters that it does not keep under its new policy.",
        },
    ),
    "messages_dead_lettered": (
        "plain",
        {
            "expired": "{Ids} of {queues}, expired, {were} published to {exchange_name} {to_targets}.",
            "rejected": "{Ids} of {queues}, rejected, {were} published to {exchange_name} {to_targets}.",
            "maxlen": "{Ids} of {queues}, for which there was no room, {were} published to {exchange_name} "
            "{to_targets}.",
            "delivery_limit": "{Ids} of {queues}, given back more often than its delivery limit allows, {were} "
            "published to {exchange_name} {to_targets}.",
        },
    ),
    "dead_letters_dropped": (
        "refusal",
        {
            "no_queue": "When dead letters arrived for {queues}, it was gone: {messages} went nowhere.",
            "no_master": "When dead letters arrived for {queues}, it had no master: {messages} went nowhere.",
            "stream": "Dead letters are not written to a stream in this release: {messages} for {queues} went nowhere.",
        },
    ),
    "messages_rejected": ("plain", "{Consumer} rejected {ids} of {queues} for good, and the queue let go of them."),
    "consumer_started": ("plain", "{Consumer} began to consume from {queues}, connected to {node}."),
    "consumer_activated": ("plain", "{Consumer} became the single active consumer of {queues}."),
    "consumer_cancelled": (
        "fault",
        {
            "client": "{Consumer} stopped consuming from {queues}.",
            "queue_deleted": "{Consumer} was cancelled, because {queues} is gone; its client was {told}.",
            "failover": "{Consumer} of {queues} was cancelled because of the failover, as it had asked for; "
            "its client was {told}.",
            "master_down": "{Consumer} was cancelled, because {queues} has no master; its client was {told}.",
            "in_use": "{Consumer} was cancelled, because others consume from {queues} by now; its client was {told}.",
        },
    ),
    "consumer_closed": (
        "plain",
        {
            "client": "{Consumer} of {queues} closed its channel.",
            "node_down": "{Consumer} of {queues} is gone: it was connected to {node}.",
            "drained": "{Consumer} of {queues} was closed with its connection to {node}, which is being drained.",
            "timed_out": "{Consumer} of {queues} was closed with an error of its channel: it had not answered in time.",
            "connection_failed": "{Consumer} of {queues} was closed with its connection, which an error ended.",
            "channel_failed": "{Consumer} of {queues} was closed with its channel, which an error ended.",
        },
    ),
    "consumer_suspected": (
        "fault",
        "{queues} does not reach {consumer} on {node}, which keeps {ids} for {timeout_s} s and gets nothing then.",
    ),
    "consumer_timed_out": (
        "fault",
        "{Consumer} of {queues} had not answered in time and lost {ids}; it gets nothing until it answers for them. "
        "Its client was {told}.",
    ),
    "answers_too_late": ("plain", "{Consumer} answered for {ids} of {queues}, which it had lost: it was too late."),
    "consumer_in_reach": ("recovery", "{queues} reaches {consumer} on {node} again, which holds {ids}."),
    "consumer_waits": ("fault", "{Consumer} waits for {queues}, a minute at most; its client was not told."),
    "consumer_moved": ("recovery", "{Consumer} now consumes from the new master of {queues}; its client was not told."),
    "publisher_started": ("plain", "{Publisher} began to publish to {queues}, connected to {node}."),
    "publisher_blocked": ("fault", "{Publisher} of {queues} is blocked: its messages wait at the client."),
    "publisher_unblocked": ("recovery", "{Publisher} of {queues} goes on, with all that waited at the client."),
    "publisher_closed": (
        "plain",
        {
            "client": "{Publisher} of {queues} stopped.",
            "node_down": "{Publisher} of {queues} is gone: it was connected to {node}.",
            "transaction_failed": "{Publisher} of {queues} is gone: its channel was closed.",
        },
    ),
}
