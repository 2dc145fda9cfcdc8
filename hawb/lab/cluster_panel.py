"""The cluster: its nodes with what can be done to each, the links between them while some are down, the replica matrix,
the log of the chosen queue if it is a quorum queue, the operations on a queue."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from hawb.engine.state import CLASSIC, QUORUM, STREAM, TYPES
from hawb.lab import fields
from hawb.lab.controller import Controller, Place
from hawb.lab.fields import Changed, Message
from hawb.lab.node_column import NodeColumn
from hawb.lab.typed import number
from hawb.views.cluster import links, matrix, metadata
from hawb.views.formatting import shown

FIRST_RUNNING = "first running"
GROUPS = (QUORUM, STREAM)
ONLY_FOR = {"sync": (CLASSIC,), "cancel sync": (CLASSIC,), "+ member": GROUPS, "- member": GROUPS}
"""The buttons for queues of some types, by their labels."""

NARROW_FROM = 5
"""From so many nodes on there is no room beside a node's state and buttons."""


class ClusterPanel:
    """Nodes, links, matrix, log, operations. `open_form` opens the form of a verb."""

    def __init__(self, controller: Controller, changed: Changed, open_form: Callable[[str], None]):
        self.controller, self.changed = controller, changed
        self.nodes: tuple[NodeColumn, ...] = ()
        self.heads = fields.named(widgets.GridBox(), "hawb-heads")
        self._style = ""
        self.matrix = fields.named(widgets.HTML(), "hawb-matrix")
        self.log = fields.named(widgets.HTML(), "hawb-raft")
        self.operations = Operations(controller, changed, open_form)
        self.on_nodes = Message(Place.NODES)
        self.links = fields.named(widgets.HTML(), "hawb-links")
        self.heal = fields.button("heal", "all links work again", lambda: self._act("heal", True))
        partition = fields.button(
            "partition…", "links between groups of nodes drop everything", lambda: open_form("partition")
        )
        cut = fields.button("cut…", "single links drop everything", lambda: open_form("cut"))
        rebalance = fields.button("rebalance", "rabbitmq-queues rebalance all", lambda: self._act("rebalance", True))
        tooltip = "what a stop and a kill of each node would do now"
        self.safe = widgets.ToggleButton(description="safe to stop?", tooltip=tooltip, layout={"width": "auto"})
        self.safe.observe(self._forecast, "value")
        on_all = fields.row(self.safe, partition, cut, self.heal, rebalance)
        title = fields.row(fields.title("Cluster"), on_all, name="hawb-title")
        heads = self.on_nodes.beside(self.heads)
        self.box = fields.panel(title, heads, self.links, self.matrix, self.log, self.operations.box)

    def show(self) -> None:
        """Shows where the controller stands."""
        outcome, was = self.controller.outcome, self.controller.was
        if [column.node for column in self.nodes] != list(outcome["nodes"]):
            self._lay_out(list(outcome["nodes"]))
        was_nodes = {} if was is None else was["nodes"]
        for column in self.nodes:
            said, forecast = matrix.states(outcome, column.node), self.controller.forecasts.get(column.node)
            column.show(said, was_nodes.get(column.node), forecast)
        cut = self.controller.cut_links
        self.heal.disabled = not cut
        self.links.layout.display = None if cut else "none"
        self.links.value = links.svg(outcome, cut) if cut else ""
        self.matrix.value = f'<div style="{self._style}">{matrix.svg(outcome, was)}{metadata.html(outcome)}</div>'
        self.log.value = self.controller.raft_log
        self.log.layout.display = None if self.log.value else "none"
        (self.box.add_class if self.log.value else self.box.remove_class)("hawb-with-log")
        self.on_nodes.show(self.controller)
        self.operations.show()

    def _lay_out(self, nodes: list[str]) -> None:
        cut, narrow = len(matrix.common_prefix(nodes)), len(nodes) >= NARROW_FROM
        self.nodes = tuple(
            NodeColumn(node, node[cut:], narrow, [other for other in nodes if other != node], self._act)
            for node in nodes
        )
        self.heads.children = [widgets.HTML(), *(column.box for column in self.nodes)]
        cell, width = matrix.cell_width_for(len(nodes)), matrix.width_for(len(nodes))
        columns = f"{matrix.NAME_WIDTH}fr repeat({len(nodes)}, {cell}fr) {matrix.MARGIN}fr"
        self.heads.layout.grid_template_columns = columns
        self.heads.layout.max_width = f"{width}px"
        head = matrix.HEADER_HEIGHT
        self._style = f"--head: {head}; --head-percent: {100 * head / width:.3f}"

    def _act(self, verb: str, argument: object) -> None:
        self.controller.act(verb, argument, Place.NODES)
        self.changed()

    def _forecast(self, change: dict) -> None:
        self.controller.forecasting = change["new"]
        self.changed()


class Operations:
    """What a client or an operator does to one queue."""

    def __init__(self, controller: Controller, changed: Changed, open_form: Callable[[str], None]):
        self.controller, self.changed = controller, changed
        self.message = Message(Place.QUEUES)
        about = "the queue that the buttons below are about; VHOST::NAME in another virtual host than /"
        self.queue = fields.combobox("queue", about, "NAME or VHOST::NAME", width="190px")
        self.queue.observe(self._choose, "value")
        self.node = fields.dropdown("node", "where the client is connected", [(FIRST_RUNNING, "")], width="140px")
        self.count = fields.text("count", "how many messages to publish or get", "10", width="90px")
        self.size = fields.text("size", "bytes of each message to publish", "1024", width="90px")
        self.type = fields.dropdown("type", "of a queue to declare (x-queue-type)", TYPES, width="105px")
        more = fields.button("all fields…", "publish with every field", lambda: open_form("publish"))
        given = fields.row(self.queue, self.node, self.count, self.size, self.type)
        self.buttons = {button.description: button for button in self._buttons()}
        operations = fields.column(given, fields.row(*self.buttons.values(), more))
        self.box = fields.named(self.message.beside(operations), "hawb-operations")

    def show(self) -> None:
        """Shows where the controller stands."""
        outcome = self.controller.outcome
        self.queue.options = tuple(outcome["queues"])
        self.queue.value = self.controller.queue
        options = [(FIRST_RUNNING, ""), *((shown(node), node) for node in outcome["nodes"])]
        if list(self.node.options) != options:
            self.node.options = options
        chosen = outcome["queues"].get(self.controller.queue)
        for label, kinds in ONLY_FOR.items():
            self.buttons[label].layout.display = None if chosen is None or chosen["type"] in kinds else "none"
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

        def declared() -> dict:
            return told() if self.type.value == CLASSIC else told(arguments={"x-queue-type": self.type.value})

        def count() -> object:
            return number(self.count.value)

        return [
            self._button("declare", "queue.declare", "declare", declared),
            self._button(
                "publish", "basic.publish", "publish", lambda: told(count=count(), size=number(self.size.value))
            ),
            self._button("get", "basic.get, acknowledged", "get", lambda: {"queue": queue(), "count": count()}),
            self._button("sync", "rabbitmqctl sync_queue", "sync_queue", queue),
            self._button("cancel sync", "rabbitmqctl cancel_sync_queue", "cancel_sync_queue", queue),
            self._button("purge", "rabbitmqctl purge_queue", "purge", queue),
            self._button("delete", "rabbitmqctl delete_queue", "delete", lambda: {"queue": queue()}),
            self._button("crash", "its process dies at the node, by default the master's or leader's", "crash", told),
            self._button("transfer", "the master or leader moves to the node", "transfer_leadership", told),
            self._button("+ member", "rabbitmq-queues add_member, on the node", "add_member", told),
            self._button("- member", "rabbitmq-queues delete_member, on the node", "delete_member", told),
        ]

    def _button(self, label: str, what: str, verb: str, argument: Callable[[], object]) -> widgets.Button:
        def pressed() -> None:
            self.controller.act(verb, argument(), Place.QUEUES)
            self.changed()

        return fields.button(label, what, pressed)
