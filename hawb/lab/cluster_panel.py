"""The cluster: its nodes with what can be done to each, the replica matrix below them, the operations on a queue."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller, Place, number
from hawb.lab.fields import Changed, Message
from hawb.views import matrix
from hawb.views.style import LOOKS
from hawb.views.words import html, shown

NODE_ACTIONS = {
    "controlled stop": ("stop", "controlled shutdown: rabbitmqctl stop", ("running",)),
    "kill": ("kill", "dies without warning: kill -9", ("running", "waiting")),
    "start": ("start", "boots: rabbitmq-server", ("down",)),
}
"""Label: the verb, what it is, and the states of a node in which it can be done."""

FIRST_RUNNING = "first running"
NARROW_FROM = 5
"""From so many nodes on, `controlled stop` is short for want of room."""


class NodeColumn:
    """A node's head above its column of the matrix: name, state, and what can be done to it."""

    def __init__(self, node: str, label: str, narrow: bool, act: Callable[[str, str], None]):
        self.node, self.label, self.narrow = node, label, narrow
        self.head = widgets.HTML()
        self.buttons = {}
        for label, (verb, what, _) in NODE_ACTIONS.items():
            short = verb if narrow else label
            self.buttons[label] = fields.button(short, f"{shown(node)}: {what}", lambda verb=verb: act(verb, node))
        self.box = fields.column(self.head, fields.row(*self.buttons.values()), name="hawb-node")

    def show(self, state: str, was: str | None) -> None:
        """Shows the node in this state, which was another before."""
        look = LOOKS[state]
        told, changed = look.word, ""
        if was not in (None, state):
            changed = f' class="hawb-changed" title="was {was}"'
            told += "" if self.narrow else f" (was {was})"
        self.head.value = (
            f'<b title="{html(self.node)}">{html(self.label)}</b>'
            f'<span{changed}><span style="color:{look.colour}">{look.glyph}</span> {told}</span>'
        )
        for label, (_, _, states) in NODE_ACTIONS.items():
            self.buttons[label].layout.display = None if state in states else "none"


class ClusterPanel:
    """Nodes, matrix, operations."""

    def __init__(self, controller: Controller, changed: Changed):
        self.controller, self.changed = controller, changed
        self.nodes: tuple[NodeColumn, ...] = ()
        self.heads = fields.named(widgets.GridBox(), "hawb-heads")
        self._style = ""
        self.matrix = fields.named(widgets.HTML(), "hawb-matrix")
        self.operations = Operations(controller, changed)
        self.on_nodes = Message(Place.NODES)
        heads = self.on_nodes.beside(self.heads)
        self.box = fields.panel(fields.title("Cluster"), heads, self.matrix, self.operations.box)

    def show(self) -> None:
        """Shows where the controller stands."""
        outcome, was = self.controller.outcome, self.controller.was
        if [column.node for column in self.nodes] != list(outcome["nodes"]):
            self._lay_out(list(outcome["nodes"]))
        was_nodes = {} if was is None else was["nodes"]
        for column in self.nodes:
            column.show(outcome["nodes"][column.node], was_nodes.get(column.node))
        self.matrix.value = f'<div style="{self._style}">{matrix.svg(outcome, was)}</div>'
        self.on_nodes.show(self.controller)
        self.operations.show()

    def _lay_out(self, nodes: list[str]) -> None:
        cut, narrow = len(matrix.common_prefix(nodes)), len(nodes) >= NARROW_FROM
        self.nodes = tuple(NodeColumn(node, node[cut:], narrow, self._act) for node in nodes)
        self.heads.children = [widgets.HTML(), *(column.box for column in self.nodes)]
        least, shared, widest = matrix.CELL_WIDTHS
        cell = min(max(least, shared // max(len(nodes), 1)), widest)
        width = matrix.NAME_WIDTH + cell * len(nodes) + matrix.MARGIN
        columns = f"{matrix.NAME_WIDTH}fr repeat({len(nodes)}, {cell}fr) {matrix.MARGIN}fr"
        self.heads.layout.grid_template_columns = columns
        self.heads.layout.max_width = f"{width}px"
        head = matrix.HEADER_HEIGHT
        self._style = f"--head: {head}; --head-percent: {100 * head / width:.3f}"

    def _act(self, verb: str, node: str) -> None:
        self.controller.act(verb, node, Place.NODES, self.operations.at.value)
        self.operations.at.value = ""
        self.changed()


class Operations:
    """What a client or an operator does to one queue."""

    def __init__(self, controller: Controller, changed: Changed):
        self.controller, self.changed = controller, changed
        self.message = Message(Place.QUEUES)
        self.queue = widgets.Combobox(
            description="queue",
            tooltip="the queue that the buttons beside are about",
            placeholder="a queue's name",
            continuous_update=False,
            layout={"width": "190px"},
            style={"description_width": "initial"},
        )
        self.queue.observe(self._choose, "value")
        self.node = fields.dropdown("node", "where the client is connected", [(FIRST_RUNNING, "")], width="150px")
        self.count = fields.text("count", "how many messages to publish or get", "10", width="90px")
        self.size = fields.text("size", "bytes of each message to publish", "1024", width="90px")
        self.at = fields.text("at", "the time of the next step, in seconds; empty: once all has settled", width="95px")
        self.at.placeholder = "settled"
        given = fields.row(self.queue, self.node, self.count, self.size, self.at)
        operations = fields.column(given, fields.row(*self._buttons()))
        self.box = fields.named(self.message.beside(operations), "hawb-operations")

    def show(self) -> None:
        """Shows where the controller stands."""
        outcome = self.controller.outcome
        self.queue.options = tuple(outcome["queues"])
        self.queue.value = self.controller.queue
        options = [(FIRST_RUNNING, ""), *((shown(node), node) for node in outcome["nodes"])]
        if list(self.node.options) != options:
            self.node.options = options
        self.message.show(self.controller)

    def _choose(self, change: dict) -> None:
        if change["new"] != self.controller.queue:
            self.controller.choose(change["new"])
            self.changed()

    def _buttons(self) -> list[widgets.Button]:
        def queue() -> str:
            return self.queue.value

        def told(**more: object) -> dict:
            node = {"node": self.node.value} if self.node.value else {}
            return {"queue": self.queue.value} | node | more

        def count() -> object:
            return number(self.count.value)

        return [
            self._button("declare", "queue.declare", "declare", told),
            self._button(
                "publish", "basic.publish", "publish", lambda: told(count=count(), size=number(self.size.value))
            ),
            self._button("get", "basic.get, acknowledged", "get", lambda: {"queue": queue(), "count": count()}),
            self._button("synchronise", "rabbitmqctl sync_queue", "sync_queue", queue),
            self._button("cancel sync", "rabbitmqctl cancel_sync_queue", "cancel_sync_queue", queue),
            self._button("purge", "rabbitmqctl purge_queue", "purge", queue),
            self._button("delete", "rabbitmqctl delete_queue", "delete", lambda: {"queue": queue()}),
        ]

    def _button(self, label: str, what: str, verb: str, argument: Callable[[], object]) -> widgets.Button:
        def pressed() -> None:
            self.controller.act(verb, argument(), Place.QUEUES, self.at.value)
            self.at.value = ""
            self.changed()

        return fields.button(label, what, pressed)
