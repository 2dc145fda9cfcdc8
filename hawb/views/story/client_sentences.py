"""The sentences for events of clients and messages: published, confirmed, delivered, lost. Part of `sentences`."""

from __future__ import annotations

from hawb.languages import N_, Plural

Template = str | Plural
"""A sentence template. A plural has one form for one message (`ids`) and one for several."""

CLIENT_SENTENCES: dict[str, tuple[str, Template | dict[object, Template]]] = {
    "messages_published": (
        "plain",
        {
            False: Plural(
                "{Ids} was published to {queues} and reached {replicas}.",
                "{Ids} were published to {queues} and reached {replicas}.",
            ),
            True: Plural(
                "{Ids} was published to {queues} and committed by a majority ({replicas}).",
                "{Ids} were published to {queues} and committed by a majority ({replicas}).",
            ),
        },
    ),
    "messages_confirmed": ("plain", N_("The publisher got a confirm for {ids} of {queues}.")),
    "messages_nacked": ("refusal", N_("The publisher got a nack for {ids} of {queues}.")),
    "transaction_committed": (
        "plain",
        N_("The publisher got tx.commit-ok: {ids} of {queues}."),
    ),
    "transaction_failed": (
        "refusal",
        N_("The publisher's channel was closed instead of committing its transaction: {ids} of {queues}."),
    ),
    "messages_unanswered": (
        "refusal",
        {
            "client_node_gone": N_(
                "The publisher of {ids} to {queues} gets no confirm: its connection ended when its node went down."
            ),
            "connection_closed": N_(
                "The publisher of {ids} to {queues} gets no confirm: its connection was closed."
            ),
        },
    ),
    "messages_refused": (
        "refusal",
        {
            "home_node_down": N_("No queue took {ids}: the node of {queues} is down, and the queue has no mirrors."),
            "no_record": N_(
                "No queue took {ids}: no node with a member of {queues} has booted since all nodes were down."
            ),
            "master_died": N_("No queue took {ids}: they waited for the master of {queues}, which ended."),
            "master_stopped": N_(
                "No queue took {ids}: the master of {queues} was shut down and no mirror may serve it."
            ),
            "no_master": N_("No queue took {ids}: {queues} has lost its master and no mirror may serve it."),
            "crashed": N_("No queue took {ids}: the process of {queues} has crashed for good."),
            "no_queue": N_("No queue took {ids}: there is no {queues}."),
            "max_length": N_("{queues} refused {ids}: it was full."),
            "client_node_gone": Plural(
                "{Ids} did not reach {queues}: the node that the publisher was connected to is gone.",
                "{Ids} did not reach {queues}: the node that the publisher was connected to is gone.",
            ),
            "connection_closed": Plural(
                "{Ids} did not reach {queues}: the publisher's connection was blocked, and then closed.",
                "{Ids} did not reach {queues}: the publisher's connection was blocked, and then closed.",
            ),
            "no_majority": Plural(
                "{Ids} did not reach {queues}: no leader answered the publisher's channel in time.",
                "{Ids} did not reach {queues}: no leader answered the publisher's channel in time.",
            ),
            "not_sent_again": Plural(
                "{Ids} did not get into {queues}: no majority had it when the leader changed, and the publisher's "
                "channel has not sent it again.",
                "{Ids} did not get into {queues}: no majority had them when the leader changed, and the publisher's "
                "channel has not sent them again.",
            ),
        },
    ),
    "messages_delivered": (
        "plain",
        {
            False: Plural(
                "{Ids} of {queues} was delivered to {consumer}.", "{Ids} of {queues} were delivered to {consumer}."
            ),
            True: Plural(
                "{Ids} of {queues} was delivered to {consumer}, {redelivered} marked as redelivered.",
                "{Ids} of {queues} were delivered to {consumer}, {redelivered} marked as redelivered.",
            ),
        },
    ),
    "messages_acknowledged": (
        "plain",
        Plural(
            "{Consumer} acknowledged {ids} of {queues}, and the queue removed it.",
            "{Consumer} acknowledged {ids} of {queues}, and the queue removed them.",
        ),
    ),
    "answers_misplaced": (
        "fault",
        N_(
            "{Consumer} acknowledged or rejected {meant} of {queues}, which an earlier master had delivered. The "
            "present master applies this to the messages that now have these positions: {ids}."
        ),
    ),
    "acknowledgement_ignored": (
        "fault",
        N_(
            "{Consumer} acknowledged or rejected {ids} of {queues}, but the master that had delivered them is gone. "
            "This has no effect."
        ),
    ),
    "messages_requeued": (
        "plain",
        {
            "nack": Plural(
                "{Ids} of {queues} was requeued: the client returned it.",
                "{Ids} of {queues} were requeued: the client returned them.",
            ),
            "consumer_gone": Plural(
                "{Ids} of {queues} was requeued: its client is gone.",
                "{Ids} of {queues} were requeued: their client is gone.",
            ),
            "timed_out": Plural(
                "{Ids} of {queues} was requeued: the consumer did not acknowledge it in time.",
                "{Ids} of {queues} were requeued: the consumer did not acknowledge them in time.",
            ),
            "out_of_reach": Plural(
                "{Ids} of {queues} was requeued: its client has been out of reach for too long.",
                "{Ids} of {queues} were requeued: their client has been out of reach for too long.",
            ),
        },
    ),
    "messages_delayed": (
        "plain",
        Plural(
            "{Ids} of {queues} was returned and will be ready again in {wait_s} s.",
            "{Ids} of {queues} were returned and will be ready again in {wait_s} s.",
        ),
    ),
    "messages_retried": (
        "plain",
        Plural(
            "{Ids} of {queues} was ready again, to be delivered once more.",
            "{Ids} of {queues} were ready again, to be delivered once more.",
        ),
    ),
    "messages_expired": (
        "plain",
        Plural(
            "{Ids} of {queues} expired: it was at the head of the queue and had exceeded its TTL.",
            "{Ids} of {queues} expired: they were at the head of the queue and had exceeded their TTL.",
        ),
    ),
    "messages_dropped": (
        "refusal",
        {
            "maxlen": N_("{queues} exceeded its length limit and dropped {ids} from its head."),
            "delivery_limit": N_("{queues} dropped {ids}, which had been returned more often than its delivery"
                                 " limit allows."),
            "other_strategy": N_("{queues} dropped {ids}: these dead letters are not kept under its new policy."),
        },
    ),
    "messages_dead_lettered": (
        "plain",
        {
            "expired": Plural(
                "{Ids} of {queues} expired: it was published to {exchange_name} {to_targets}.",
                "{Ids} of {queues} expired: they were published to {exchange_name} {to_targets}.",
            ),
            "rejected": Plural(
                "{Ids} of {queues} was rejected: it was published to {exchange_name} {to_targets}.",
                "{Ids} of {queues} were rejected: they were published to {exchange_name} {to_targets}.",
            ),
            "maxlen": Plural(
                "{Ids} of {queues} did not fit into the queue: it was published to {exchange_name} {to_targets}.",
                "{Ids} of {queues} did not fit into the queue: they were published to {exchange_name} {to_targets}.",
            ),
            "delivery_limit": Plural(
                "{Ids} of {queues} was returned more often than the delivery limit allows: it was published to"
                " {exchange_name} {to_targets}.",
                "{Ids} of {queues} were returned more often than the delivery limit allows: they were published to"
                " {exchange_name} {to_targets}.",
            ),
        },
    ),
    "dead_letters_dropped": (
        "refusal",
        {
            "no_queue": N_("When dead letters arrived for {queues}, the queue was gone: {messages} were dropped."),
            "no_master": N_("When dead letters arrived for {queues}, the queue had no master: {messages} were"
                            " dropped."),
            "no_leader": N_("Dead letters for {queues} did not reach a leader of the queue: {messages} were dropped."),
            "stream": N_(
                "Dead letters are not written to a stream in this release: {messages} for {queues} were dropped."
            ),
        },
    ),
    "messages_rejected": (
        "plain",
        Plural(
            "{Consumer} rejected {ids} of {queues} without requeueing, and the queue removed it.",
            "{Consumer} rejected {ids} of {queues} without requeueing, and the queue removed them.",
        ),
    ),
    "consumer_started": ("plain", N_("{Consumer} began to consume from {queues}, connected to {node}.")),
    "consumer_activated": ("plain", N_("{Consumer} became the single active consumer of {queues}.")),
    "consumer_cancelled": (
        "fault",
        {
            "client": N_("{Consumer} stopped consuming from {queues}."),
            "queue_deleted": N_("{Consumer} was cancelled, because {queues} is gone; its client was {notified}."),
            "failover": N_(
                "{Consumer} of {queues} was cancelled because of the failover, as it had asked for; "
                "its client was {notified}."
            ),
            "master_down": N_("{Consumer} was cancelled, because {queues} has no master; its client was {notified}."),
            "in_use": N_(
                "{Consumer} was cancelled, because other clients now consume from {queues}; its client was {notified}."
            ),
        },
    ),
    "consumer_closed": (
        "plain",
        {
            "client": N_("{Consumer} of {queues} closed its channel."),
            "node_down": N_("{Consumer} of {queues} is gone: it was connected to {node}."),
            "drained": N_("{Consumer} of {queues} was closed with its connection to {node}, which is being drained."),
            "timed_out": N_(
                "{Consumer} of {queues} was closed with an error of its channel: it had not acknowledged in time."
            ),
            "connection_failed": N_("{Consumer} of {queues} was closed with its connection, which an error ended."),
            "channel_failed": N_("{Consumer} of {queues} was closed with its channel, which an error ended."),
        },
    ),
    "consumer_suspected": (
        "fault",
        N_("{queues} does not reach {consumer} on {node}: for {timeout_s} s the consumer keeps {ids} and gets no"
           " other messages."),
    ),
    "channel_timed_out": (
        "fault",
        N_(
            "{Consumer} of {queues} had not acknowledged a delivery in {timeout_s} s, so RabbitMQ closed its "
            "channel: {refusal}."
        ),
    ),
    "consumer_timed_out": (
        "fault",
        N_(
            "{Consumer} of {queues} had not acknowledged in time, so the queue requeued {ids}. The consumer gets no "
            "more messages until it acknowledges or rejects the requeued deliveries. Its client was {notified}."
        ),
    ),
    "answers_too_late": ("plain", N_("{Consumer} acknowledged or rejected {ids} of {queues} too late: RabbitMQ had "
                                     "already requeued them.")),
    "consumer_in_reach": ("recovery", N_("{queues} reaches {consumer} on {node} again, which holds {ids}.")),
    "consumer_waits": ("fault", N_("{Consumer} waits for {queues}, a minute at most; its client was not notified.")),
    "consumer_moved": (
        "recovery",
        N_("{Consumer} now consumes from the new master of {queues}; its client was not notified."),
    ),
    "publisher_started": ("plain", N_("{Publisher} began to publish to {queues}, connected to {node}.")),
    "publisher_blocked": ("fault", N_("{Publisher} of {queues} is blocked: its messages wait in the client.")),
    "publisher_unblocked": ("recovery", N_("{Publisher} of {queues} continues and sends the messages that waited at"
                                           " the client.")),
    "publisher_closed": (
        "plain",
        {
            "client": N_("{Publisher} of {queues} stopped."),
            "node_down": N_("{Publisher} of {queues} is gone: it was connected to {node}."),
            "transaction_failed": N_("{Publisher} of {queues} is gone: its channel was closed."),
        },
    ),
    "messages_lost": (
        "loss",
        {
            "unsynchronised_promotion": Plural(
                "{Ids} of {queues} was lost: the new master does not have it.",
                "{Ids} of {queues} were lost: the new master does not have them.",
            ),
            "transient_message": Plural(
                "{Ids} of {queues} was lost: no process holds it any more, and it was not persistent.",
                "{Ids} of {queues} were lost: no process holds them any more, and they were not persistent.",
            ),
            "transient_queue": Plural(
                "{Ids} of {queues} was lost with its last process: the queue was not durable.",
                "{Ids} of {queues} were lost with its last process: the queue was not durable.",
            ),
            "exclusive_queue": Plural(
                "{Ids} of {queues} was lost with its only process: the queue was exclusive.",
                "{Ids} of {queues} were lost with its only process: the queue was exclusive.",
            ),
            "dropped_replicas": Plural(
                "{Ids} of {queues} was lost: all copies but one were dropped, and the last mirror deleted its own.",
                "{Ids} of {queues} were lost: all copies but one were dropped, and the last mirror deleted its own.",
            ),
            "disk_lost": Plural(
                "{Ids} of {queues} was lost with the disk that it was on.",
                "{Ids} of {queues} were lost with the disk that they were on.",
            ),
            "shrunk_by_force": Plural(
                "{Ids} of {queues} was lost: only members that a forced shrink removed had it.",
                "{Ids} of {queues} were lost: only members that a forced shrink removed had them.",
            ),
            "side_given_up": Plural(
                "{Ids} of {queues} was lost: the nodes that had it replaced their metadata with the metadata of nodes"
                " that do not know the message.",
                "{Ids} of {queues} were lost: the nodes that had them replaced their metadata with the metadata of"
                " nodes that do not know the messages.",
            ),
            "node_forgotten": Plural(
                "{Ids} of {queues} was lost: its master's node was forgotten, and no stopped mirror has it.",
                "{Ids} of {queues} were lost: their master's node was forgotten, and no stopped mirror has them.",
            ),
            "node_reset": Plural(
                "{Ids} of {queues} was lost: its master's node was reset, and no stopped mirror has it.",
                "{Ids} of {queues} were lost: their master's node was reset, and no stopped mirror has them.",
            ),
            "auto_ack_in_flight": Plural(
                "{Ids} of {queues} was lost on the way to its consumer when a node died: with automatic"
                " acknowledgement the queue had removed it.",
                "{Ids} of {queues} were lost on the way to their consumer when a node died: with automatic"
                " acknowledgement the queue had removed them.",
            ),
        },
    ),
    "messages_returned": (
        "fault",
        Plural(
            "{Ids} was in {queues} again, although it had left the queue: a node with older data on its disk now"
            " serves the queue.",
            "{Ids} were in {queues} again, although they had left the queue: a node with older data on its disk now"
            " serves the queue.",
        ),
    ),
    "messages_sent_again": ("plain", N_("The publisher's channel sent {ids} to {queues} again.")),
    "messages_taken_after_all": (
        "plain",
        Plural(
            "{Ids} is in {queues} after all: the mirror that took over had kept the messages that channels had sent"
            " it.",
            "{Ids} are in {queues} after all: the mirror that took over had kept the messages that channels had"
            " sent it.",
        ),
    ),
}
