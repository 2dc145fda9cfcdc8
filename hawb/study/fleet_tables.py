"""The tables of a fleet: queues, policies and virtual hosts of exports, and the results of an audit."""

from __future__ import annotations

from collections.abc import Sequence

from hawb.study.tables import TEXT, TEXTS, TRUTH, WHOLE, Column, Table

CLUSTER = Column("cluster", TEXT, "the cluster: the path of its folder, or of its files up to the first dot")
VHOST = Column("vhost", TEXT, "the virtual host of the queue or policy")
TYPE = Column("type", TEXT, "classic, quorum, stream or another type")

# Tables of an audit.

QUEUES = Table(
    "queues", "A row for each queue of an audit; null means unknown.",
    (
        CLUSTER, VHOST,
        Column("queue", TEXT, "the queue's name"),
        TYPE,
        Column("policy", TEXT, "the one policy that applies"),
        Column("operator_policy", TEXT, "the one operator policy that applies"),
        Column("silenced", TEXTS, "other policies that match but do not apply, the highest priority first"),
        Column("messages", WHOLE, "messages in the queue"),
        Column("master", TEXT, "the node of the queue's master or leader"),
        Column("mirrors", TEXTS, "the nodes of the queue's mirrors, the oldest first"),
        Column("synchronised_mirrors", TEXTS, "the nodes of the synchronised mirrors"),
        Column("members", TEXTS, "the nodes of a quorum queue's members"),
        Column("definition", TEXT, "the effective definition, as JSON"),
        Column("findings", TEXTS, "codes of the findings about the queue and about the policies that apply to it"),
        Column("blockers", TEXTS, "reasons why the queue cannot become a quorum queue"),
    ),
)  # fmt: skip

CLUSTERS = Table(
    "clusters", "A row for each cluster of an audit.",
    (
        CLUSTER,
        Column("version", TEXT, "the version whose rules were used; null if no file could be read"),
        Column("queues", WHOLE, "the number of queues of the cluster"),
        Column("policies", WHOLE, "the number of policies and operator policies of the cluster"),
        Column("notes", TEXTS, "notes about the cluster's files"),
    ),
)  # fmt: skip

FINDINGS = Table(
    "findings", "A row for each finding about a policy or node, and for each kind of finding about a cluster's queues.",
    (
        CLUSTER,
        Column("code", TEXT, "the code of the finding; hawb lint says what to do"),
        Column("kind", TEXT, "queue, policy, operator policy, node or cluster"),
        Column("name", TEXT, "the name of the policy, node or cluster, or of the first queue with this finding"),
        Column("what", TEXT, "the finding in a sentence; null for queues"),
        Column("queues", WHOLE, "how many queues have this finding, or use a policy that has it; 0 for other kinds"),
    ),
)  # fmt: skip

REFUSALS = Table(
    "refusals", "A row for each file that could not be read.",
    (
        CLUSTER,
        Column("file", TEXT, "the file"),
        Column("place", TEXT, "the place of the mistake in the file"),
        Column("given", TEXT, "what the file has there"),
        Column("accepted", TEXT, "what hawb accepts there"),
    ),
)  # fmt: skip

OF_AUDITS: Sequence[Table] = (QUEUES, CLUSTERS, FINDINGS, REFUSALS)

# Tables of exports.

REFUSED = tuple(
    Column(f"refused_{column.name}", column.type, f"for a file that cannot be read: {column.comment}")
    for column in REFUSALS.columns[1:]
)
"""The columns of a row about an unreadable file; null in all other rows."""

EXPORTED_QUEUES = Table(
    "rabbitmq-queues", "A row for each queue in listings and definitions of clusters.",
    (
        CLUSTER, VHOST,
        Column("queue", TEXT, "the queue's name"),
        TYPE,
        Column("state", TEXT, "running, down, or another state of a listing"),
        Column("durable", TRUTH, "true if the queue is durable"),
        Column("auto_delete", TRUTH, "true if the queue is deleted when its last consumer is cancelled"),
        Column("exclusive", TRUTH, "true if the queue is deleted when its connection closes"),
        Column("arguments", TEXT, "the arguments with which the queue was declared, as JSON"),
        Column("policy", TEXT, "the policy that a listing names"),
        Column("operator_policy", TEXT, "the operator policy that a listing names"),
        Column("messages", WHOLE, "messages in the queue"),
        Column("message_bytes", WHOLE, "the bytes of these messages' bodies"),
        Column("node", TEXT, "the node of the queue's master or leader"),
        Column("mirrors", TEXTS, "the nodes of the queue's mirrors, the oldest first"),
        Column("synchronised_mirrors", TEXTS, "the nodes of the synchronised mirrors"),
        Column("members", TEXTS, "the nodes of a quorum queue's members"),
        Column("online", TEXTS, "the nodes of the members that are online"),
        *REFUSED,
    ),
)  # fmt: skip

EXPORTED_DEFINITIONS = Table(
    "rabbitmq-definitions", "A row for each virtual host, policy, operator policy and queue of definitions exports.",
    (
        CLUSTER,
        Column("release", TEXT, "the release of RabbitMQ that wrote the export"),
        Column("kind", TEXT, "vhost, policy, operator policy or queue"),
        VHOST,
        Column("name", TEXT, "the name of the virtual host, policy or queue"),
        Column("pattern", TEXT, "for a policy: the pattern of queue names"),
        Column("priority", WHOLE, "for a policy: its priority; of matching policies, the one with the highest applies"),
        Column("apply_to", TEXT, "for a policy: queues, exchanges, all, or one type of queue"),
        Column("definition", TEXT, "for a policy: its keys, as JSON"),
        Column("type", TEXT, "for a queue: classic, quorum, stream or another type"),
        Column("durable", TRUTH, "for a queue: true if it is durable"),
        Column("auto_delete", TRUTH, "for a queue: true if it is deleted when its last consumer is cancelled"),
        Column("arguments", TEXT, "for a queue: its arguments, as JSON"),
        *REFUSED,
    ),
)  # fmt: skip

OF_EXPORTS: Sequence[Table] = (EXPORTED_QUEUES, EXPORTED_DEFINITIONS)
