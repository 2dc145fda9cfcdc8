"""Build widgets for the fields of a step: a field's type decides its widget, so each verb gets a form.

An empty line leaves the field at its default, which is shown as its placeholder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Literal, get_args, get_origin

import ipywidgets as widgets
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo
from msgspec.structs import fields as fields_of

from hawb.engine.raft_groups.group import STORE
from hawb.lab import fields
from hawb.lab.controller import Controller
from hawb.lab.policy_draft import as_json
from hawb.lab.typed import number
from hawb.languages import _
from hawb.scenario.fields import Nodes
from hawb.scenario.kinds import Kind, kind_of
from hawb.scenario.verbs import Join, Pair
from hawb.views.formatting import shown

OMITTED = object()
"""The value of an input that leaves its field out."""

SUGGESTED: dict[str, Callable[[Controller], Sequence[str]]] = {
    "queue": lambda controller: tuple(controller.outcome["queues"]),
    "consumer": lambda controller: tuple(controller.outcome["consumers"]),
    "connection": lambda controller: ("default",),
    "arguments": lambda controller: ('{"x-queue-type": "quorum"}', '{"x-queue-type": "quorum", "x-delivery-limit": 3}'),
}
"""Suggestions for the lines of these fields; other values can be typed too."""

EXAMPLES = {"arguments": '{"x-max-length": 10}', "definition": '{"ha-mode": "all"}', "queues": '["q1", "q2"]'}


class Line:
    """A line of text, a number or JSON, with suggestions for some fields."""

    def __init__(self, field: FieldInfo, kind: Kind, controller: Controller):
        key = field.encode_name
        default = "" if field.default in (NODEFAULT, None) else json.dumps(field.default).strip('"')
        self.read = as_json if kind.item or kind.entry else number if kind.number else str
        self.required = field.required
        self.widget = fields.combobox(key, f"{key}: {kind.accepted}", EXAMPLES.get(key, default))
        self.widget.options = SUGGESTED[key](controller) if key in SUGGESTED else ()
        if key == "queue" and field.required and controller.queue != STORE:
            self.widget.value = controller.queue

    @property
    def value(self) -> object:
        """Return the typed value, or OMITTED."""
        empty = not self.widget.value and not self.required
        return OMITTED if empty else self.read(self.widget.value)


class Mark:
    """A checkbox."""

    def __init__(self, field: FieldInfo, kind: Kind, controller: Controller):
        key = field.encode_name
        self.widget = widgets.Checkbox(
            value=field.default, description=key, tooltip=f"{key}: {kind.accepted}", indent=False
        )

    @property
    def value(self) -> object:
        """Return True if it is checked."""
        return self.widget.value


class Choice:
    """A choice of one of a few words."""

    def __init__(self, field: FieldInfo, kind: Kind, controller: Controller):
        key = field.encode_name
        self.widget = fields.dropdown(key, f"{key}: {kind.accepted}", get_args(kind.hint))
        self.widget.value = field.default

    @property
    def value(self) -> object:
        """Return the chosen word."""
        return self.widget.value


class OneNode:
    """A choice of one node."""

    def __init__(self, field: FieldInfo, kind: Kind, controller: Controller):
        key = field.encode_name
        nodes = [] if field.required else [(_("(default)"), OMITTED)]
        nodes += [(shown(node), node) for node in controller.outcome["nodes"]]
        self.widget = fields.dropdown(key, f"{key}: {kind.accepted}", nodes)

    @property
    def value(self) -> object:
        """Return the chosen node, or OMITTED."""
        return self.widget.value


class Several:
    """A choice of some nodes, or of some links between them."""

    def __init__(self, field: FieldInfo, kind: Kind, controller: Controller):
        key, nodes = field.encode_name, list(controller.outcome["nodes"])
        offered = [(shown(node), node) for node in nodes]
        if kind.item.hint == Pair:
            offered = [(" – ".join(map(shown, link)), list(link)) for link in combinations(nodes, 2)]
        self.widget = widgets.SelectMultiple(
            options=offered,
            description=key,
            tooltip=_("{field}; hold Ctrl to choose several", field=f"{key}: {kind.accepted}"),
            rows=max(2, min(len(offered), 6)),
            style={"description_width": "initial"},
        )

    @property
    def value(self) -> object:
        """Return the chosen nodes or links."""
        return list(self.widget.value)


class Groups:
    """A choice of a group for each node; at first the first node is alone."""

    def __init__(self, field: FieldInfo, kind: Kind, controller: Controller):
        nodes = list(controller.outcome["nodes"])
        numbers = range(1, max(len(nodes), 2) + 1)
        self.groups = {
            node: fields.dropdown(shown(node), _("the group of {node}", node=shown(node)), numbers, width="140px")
            for node in nodes
        }
        for node in nodes[1:]:
            self.groups[node].value = 2
        self.widget = fields.row(*self.groups.values(), name="hawb-groups")

    @property
    def value(self) -> object:
        """Return the nodes of each group that has any."""
        numbers = sorted({group.value for group in self.groups.values()})
        return [[node for node, group in self.groups.items() if group.value == number] for number in numbers]


Input = Line | Mark | Choice | OneNode | Several | Groups

KINDS: tuple[tuple[Callable[[Kind], bool], type[Input]], ...] = (
    (lambda kind: kind.item is not None and kind.item.hint == Nodes, Groups),
    (lambda kind: kind.item is not None and (kind.item.hint == Pair or kind.item.names_node), Several),
    (lambda kind: kind.names_node, OneNode),
    (lambda kind: kind.hint is bool, Mark),
    (lambda kind: get_origin(kind.hint) is Literal, Choice),
)
"""The widget for each kind of field; all other kinds get a line."""


def inputs(verb: type[Struct], controller: Controller) -> dict[str, Input]:
    """Return the widgets for a verb's fields, by their keys in scenario files."""
    return {field.encode_name: _input(verb, field)(field, kind_of(field.type), controller) for field in fields_of(verb)}


def _input(verb: type[Struct], field: FieldInfo) -> type[Input]:
    kind = kind_of(field.type)
    if verb is Join:  # the node may be new to the cluster
        return Line
    return next((made for accepts, made in KINDS if accepts(kind)), Line)
