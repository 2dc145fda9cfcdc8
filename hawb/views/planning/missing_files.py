"""The facts that the given files lack about a running cluster, and the commands that write the missing files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hawb.engine.core.naming import split_queue
from hawb.exports.imported import Live
from hawb.views.formatting import listing
from hawb.views.markdown import bash_word
from hawb.views.report import ToDo

NODES, QUEUES = "nodes.json", "queues.txt"
COLUMNS = "name type state messages pid members online leader"
MIRRORED = "slave_pids synchronised_slave_pids"
"""The columns of mirrors, for releases that have mirrored queues."""


def listed_in(file: str, vhost: str = "/", mirrors: bool = True) -> str:
    """Return the command that writes a listing of the queues of a virtual host into a file."""
    columns = f"{COLUMNS} {MIRRORED}" if mirrors else COLUMNS
    return f"rabbitmqctl -q list_queues -p {bash_word(vhost)} {columns} > {file}"


def what_is_missing(live: Live) -> str:
    """Return the rest of a sentence that says what no file contains."""
    missing = []
    if not live.nodes_listed:
        missing.append("which nodes the cluster has, and which of them run")
    if not live.queues_listed:
        missing.append("on which nodes the queues are, and how many messages they have")
    elif live.unlisted:
        missing.append(f"where {listing(live.unlisted)} stand{'s' * (len(live.unlisted) == 1)} and what is in there")
    return f"no file says {', nor '.join(missing)}"


def missing(live: Live, files: Sequence[str], command: str = "safe", mirrors: bool = True) -> Iterator[ToDo]:
    """Yield a to-do with the commands that write the missing files, to be passed to `hawb` with the given `files`.

    `mirrors` is True if the release has mirrored queues.
    """
    if live.known:
        return
    commands, written = [], []
    if not live.queues_listed or live.unlisted:
        vhosts = list(dict.fromkeys(split_queue(queue)[0] for queue in live.unlisted) or live.vhosts)
        for number, vhost in enumerate(vhosts, 1):
            file = QUEUES if len(vhosts) == 1 else f"queues-{number}.txt"
            commands.append(listed_in(file, vhost, mirrors))
            written.append(file if vhost == "/" else bash_word(f"{vhost}={file}"))
    if not live.nodes_listed:
        commands.append(f"rabbitmqctl cluster_status --formatter json > {NODES}")
        written.append(NODES)
    given = " ".join([*map(bash_word, files), *written])
    what = "listing" if len(written) == 1 else "listings"
    yield ToDo(f"Write the missing {what} and ask again with {listing(written)}.",
               (*commands, f"hawb {command} {given}"))  # fmt: skip
