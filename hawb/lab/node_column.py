"""A node's head above its column of the matrix: the node's state, and what can be done to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ipywidgets as widgets

from hawb.lab import fields
from hawb.planning.safe_to_stop import WAYS, Forecast
from hawb.views.formatting import html, shown
from hawb.views.planning.forecast import MARKS, summary, verdict
from hawb.views.style import LOOKS

UP, OFF, ALIVE = ("running",), ("down",), ("running", "waiting", "paused")
"""States of a node in which something can be done to it."""

BUTTONS: dict[str, tuple[str, Sequence[str]]] = {
    "stop": ("controlled shutdown: rabbitmqctl stop", UP),
    "kill": ("dies without warning: kill -9", ALIVE),
    "start": ("boots: rabbitmq-server", OFF),
}
"""The verbs with a button: the button's tooltip, and the states of a node in which it can be done."""

Argument = Callable[[str, list[str]], object]
"""A verb's argument, for a node and the others of its cluster."""


def itself(node: str, _others: list[str]) -> object:
    """The node."""
    return node


def resource(name: str) -> Argument:
    """A resource of the node."""
    return lambda node, _others: {"node": node, "resource": name}


MENU: dict[str, tuple[str, Argument, Sequence[str]]] = {
    "power off": ("power_off", itself, ALIVE),
    "cut off from all others (partition)": ("partition", lambda node, others: [[node], others], UP),
    "drain (rabbitmq-upgrade drain)": ("drain", itself, UP),
    "revive (rabbitmq-upgrade revive)": ("revive", itself, UP),
    "memory alarm": ("alarm", resource("memory"), UP),
    "memory alarm is over": ("clear_alarm", resource("memory"), UP),
    "disk alarm": ("alarm", resource("disk"), UP),
    "disk alarm is over": ("clear_alarm", resource("disk"), UP),
    "wipe: its disk is lost": ("wipe", itself, (*ALIVE, *OFF)),
    "force boot (rabbitmqctl force_boot)": ("force_boot", itself, OFF),
    "reset (rabbitmqctl reset)": ("reset", itself, OFF),
    "force reset (rabbitmqctl force_reset)": ("force_reset", itself, OFF),
    "stand alone (rabbitmqctl force_standalone_khepri_boot)": ("force_standalone_khepri_boot", itself, ALIVE),
    "shrink all quorum queues to it by force": ("force_shrink", itself, UP),
    "join (rabbitmqctl join_cluster)": ("join", itself, OFF),
    "grow all quorum queues (rabbitmq-queues grow)": ("grow", lambda node, _others: {"node": node}, UP),
    "shrink all quorum queues (rabbitmq-queues shrink)": ("shrink", itself, (*ALIVE, *OFF)),
    "forget (rabbitmqctl forget_cluster_node)": ("forget_cluster_node", lambda node, _others: {"node": node}, OFF),
}
"""The entries of the menu: the verb, its argument, and the states of a node in which it is offered."""

MORE = ("more", "")


class NodeColumn:
    """A node's head above its column of the matrix: name, state, and what can be done to it."""

    def __init__(self, node: str, label: str, narrow: bool, others: list[str], act: Callable[[str, object], None]):
        self.node, self.label, self.narrow = node, label, narrow
        self.head = widgets.HTML()
        self.buttons = {}
        for verb, (what, _) in BUTTONS.items():
            self.buttons[verb] = fields.button(verb, f"{shown(node)}: {what}", lambda verb=verb: act(verb, node))
        self.others, self.act = others, act
        self.menu = fields.dropdown("", f"{shown(node)}: what else can be done", [MORE], width="58px")
        self.menu.observe(self._choose, "value")
        beside = fields.row(*self.buttons.values())
        both = (beside, self.menu) if narrow else (fields.row(beside, self.menu),)
        self.box = fields.column(self.head, *both, name="hawb-node")

    def show(self, said: list[str], was: str | None, forecast: Forecast | None = None) -> None:
        """Shows the words on the node, its state first, the state that it `was` in before, and its forecast, if that
        was asked for."""
        state, *trouble = said
        look = LOOKS[state]
        told, changed = look.word, ""
        if was not in (None, state):
            changed = f' class="hawb-changed" title="was {was}"'
            told += "" if self.narrow else f" (was {was})"
        self.head.value = (
            f'<b title="{html(self.node)}">{html(self.label)}{"".join(f" <em>{words}</em>" for words in trouble)}</b>'
            f'<span{changed}><span style="color:{look.colour}">{look.glyph}</span> {told}</span>'
            + ("" if forecast is None else f"<div>{''.join(forecast_html(forecast, way) for way in WAYS)}</div>")
        )
        for verb, (_, states) in BUTTONS.items():
            self.buttons[verb].layout.display = None if state in states else "none"
        offered = [MORE, *((label, label) for label, (_, _, states) in MENU.items() if state in states)]
        if list(self.menu.options) != offered:
            self.menu.options = offered
        self.menu.value = ""

    def _choose(self, change: dict) -> None:
        if change["new"]:
            verb, argument, _ = MENU[change["new"]]
            self.act(verb, argument(self.node, self.others))


def forecast_html(forecast: Forecast, way: str) -> str:
    """The verdict on a way to end the node, in a word, with the sentence behind it."""
    word, look = MARKS[verdict(forecast, way)]
    mark = f'<span aria-hidden="true" style="color:{LOOKS[look].colour}">{LOOKS[look].glyph}</span>'
    return f'<span class="hawb-forecast" title="{html(summary(forecast, way))}">{way}: {mark} {word}</span> '
