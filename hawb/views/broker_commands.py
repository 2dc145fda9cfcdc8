"""Commands that bring back a node or name a queue, as reports print them."""

from __future__ import annotations

from collections.abc import Iterator

from hawb.engine.core.naming import split_queue
from hawb.views.formatting import shown
from hawb.views.markdown import bash_word

START = "systemctl start rabbitmq-server   # on {}"


def reset_commands(node: str) -> Iterator[str]:
    """Yield the commands that reset a node that does not boot: Erlang is started there without RabbitMQ."""
    yield f"RABBITMQ_NODE_ONLY=true rabbitmq-server -detached   # on {shown(node)}"
    yield f"rabbitmqctl -n {bash_word(node)} reset"


def join_commands(node: str, to: str) -> Iterator[str]:
    """Yield the commands that join a node to the cluster of another one, after those that reset it, and start it."""
    yield f"rabbitmqctl -n {bash_word(node)} join_cluster {bash_word(to)}"
    yield f"rabbitmqctl -n {bash_word(node)} stop"
    yield START.format(shown(node))


def queue_words(queue: str) -> str:
    """Return a queue as commands take it: -p shop ha."""
    vhost, name = split_queue(queue)
    return f"-p {bash_word(vhost)} {'-- ' * name.startswith('-')}{bash_word(name)}"
