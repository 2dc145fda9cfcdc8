"""The tables of a fleet: queues, policies and virtual hosts of exports, and the results of an audit."""

from __future__ import annotations

from collections.abc import Sequence

from hawb.study.tables import TEXT, TEXTS, TRUTH, WHOLE, Column, Table

CLUSTER = Column("cluster", TEXT, "the cluster: the path of its folder, or of its files up to the first dot")
VHOST = Column("vhost", TEXT, "its virtual host")
TYPE = Column("type", TEXT, "classic, quorum, stream or another type")

# Tables of an audit.

QUEUES = Table(
    "queues", "A row for each queue of an audit; null is unknown.",
    (
        CLUSTER, VHOST,
        Column("queue", TEXT, "its name"),
        TYPE,
        Column("policy", TEXT, "the one policy that applies"),
        Column("operator_policy", TEXT, "the one operator policy that applies"),
        Column("silenced", TEXTS, "policies that match and do not apply, the nearest first"),
        Column("messages", WHOLE, "messages in it"),
        Column("master", TEXT, "the node of its master or leader"),
        Column("mirrors", TEXTS, "the nodes of its mirrors, the oldest first"),
        Column("synchronised_mirrors", TEXTS, "the nodes of the synchronised ones"),
        Column("members", TEXTS, "the nodes of a quorum queue's members"),
        Column("definition", TEXT, "the effective definition, as JSON"),
        Column("findings", TEXTS, "codes of the findings about it, and about the policies that apply to it"),
        Column("blockers", TEXTS, "reasons why it cannot become a quorum queue"),
    ),
)  # fmt: skip

CLUSTERS = Table(
    "clusters", "A row for each cluster of an audit.",
    (
        CLUSTER,
        Column("version", TEXT, "the version whose rules were used; null if no file could be read"),
        Column("queues", WHOLE, "its queues"),
        Column("policies", WHOLE, "its policies and operator policies"),
        Column("notes", TEXTS, "notes about its files"),
    ),
)  # fmt: skip

FINDINGS = Table(
    "findings", "A row for each finding of a policy or a node, and for each kind of finding of a cluster's queues.",
    (
        CLUSTER,
        Column("code", TEXT, "the code of the finding; hawb lint says what to do"),
        Column("kind", TEXT, "queue, policy, operator policy, node or cluster"),
        Column("name", TEXT, "the name of the policy, node or cluster, or of the first queue that has it"),
        Column("what", TEXT, "the finding in a sentence; null for queues"),
        Column("queues", WHOLE, "how many queues have it, themselves or through their policies; 0 for other kinds"),
    ),
)  # fmt: skip

REFUSALS = Table(
    "refusals", "A row for each file that could not be read.",
    (
        CLUSTER,
        Column("file", TEXT, "the file"),
        Column("place", TEXT, "the place in it"),
        Column("given", TEXT, "what the file has there"),
        Column("accepted", TEXT, "what is accepted"),
    ),
)  # fmt: skip

OF_AUDITS: Sequence[Table] = (QUEUES, CLUSTERS, FINDINGS, REFUSALS)

# Tables of exports.

REFUSED = tuple(
    Column(f"refused_{column.name}", column.type, f"of a file that cannot be read: {column.comment}")
    for column in REFUSALS.columns[1:]
)
"""The columns of a row about an unreadable file; null in all other rows."""

EXPORTED_QUEUES = Table(
    "rabbitmq-queues", "A row for each queue in listings and definitions of clusters.",
    (
        CLUSTER, VHOST,
        Column("queue", TEXT, "its name"),
        TYPE,
        Column("state", TEXT, "running, down, or another state of a listing"),
        Column("durable", TRUTH, "whether it is durable"),
        Column("auto_delete", TRUTH, "whether it is deleted with its last consumer"),
        Column("exclusive", TRUTH, "whether it is deleted with its connection"),
        Column("arguments", TEXT, "the arguments that it was declared with, as JSON"),
        Column("policy", TEXT, "the policy that a listing names"),
        Column("operator_policy", TEXT, "the operator policy that a listing names"),
        Column("messages", WHOLE, "messages in it"),
        Column("message_bytes", WHOLE, "bytes of their bodies"),
        Column("node", TEXT, "the node of its master or leader"),
        Column("mirrors", TEXTS, "the nodes of its mirrors, the oldest first"),
        Column("synchronised_mirrors", TEXTS, "the nodes of the synchronised ones"),
        Column("members", TEXTS, "the nodes of a quorum queue's members"),
        Column("online", TEXTS, "the nodes of the online ones"),
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
        Column("name", TEXT, "its name"),
        Column("pattern", TEXT, "of a policy: the pattern of queue names"),
        Column("priority", WHOLE, "of a policy: the highest that matches applies"),
        Column("apply_to", TEXT, "of a policy: queues, exchanges, all, or one type of queue"),
        Column("definition", TEXT, "of a policy: its keys, as JSON"),
        Column("type", TEXT, "of a queue: classic, quorum, stream or another type"),
        Column("durable", TRUTH, "of a queue: whether it is durable"),
        Column("auto_delete", TRUTH, "of a queue: whether it is deleted with its last consumer"),
        Column("arguments", TEXT, "of a queue: its arguments, as JSON"),
        *REFUSED,
    ),
)  # fmt: skip

OF_EXPORTS: Sequence[Table] = (EXPORTED_QUEUES, EXPORTED_DEFINITIONS)
