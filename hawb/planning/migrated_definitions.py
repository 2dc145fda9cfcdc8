"""Write the definitions after a move to quorum queues, for `rabbitmqctl import_definitions` and the management API.

The file is built from what is known to be harmless, and not copied and cleaned: vhosts by name, exchanges, bindings,
queues, policies and operator policies. Users, permissions, parameters and limits cannot get into it. Queues that
plugins declare themselves are left out, with the bindings to them.
"""

from __future__ import annotations

from collections.abc import Callable

from hawb.planning.migration import Migration, Move
from hawb.rules.owned_queues import is_of_federation, owner
from hawb.rules.policies import Policy
from hawb.rules.queue_types import QUORUM, TYPES

SUFFIX = "quorum"

Rename = Callable[[str], str]


def definitions(plan: Migration, rename: Rename = str, *, new: bool = False) -> dict[str, object]:
    """Return the whole file as a JSON object.

    `rename` gives each vhost its name after the move, and `new` says whether those vhosts are added for it. Each has
    its default queue type, because an import removes a default type that the file leaves out
    (`rabbit_definitions:add_vhost`, `rabbit_vhost:update` of 3.13 and 4.3).
    """
    routing = plan.routing
    types = routing.default_types if plan.new_default_type else {}
    types = types | (new_default_types(plan) if new else {})
    gone = {(one.vhost, one.name) for one in routing.exchanges if is_of_federation(one.name, one.internal)}
    left = {(move.queue.vhost, move.queue.name) for move in plan.moves if not _is_exported(move)}
    return {
        "rabbit_version": plan.target.release,
        "rabbitmq_version": plan.target.release,
        "vhosts": [
            {"name": rename(name), **({"metadata": {"default_queue_type": types[name]}} if name in types else {})}
            for name in vhosts(plan)
        ],
        "policies": [_policy(one) | {"vhost": rename(one.vhost)} for one in plan.policies(operator=False)],
        "parameters": [_operator_policy(one) | {"vhost": rename(one.vhost)} for one in plan.policies(operator=True)],
        "queues": [_queue(move) | {"vhost": rename(move.queue.vhost)} for move in plan.moves if _is_exported(move)],
        "exchanges": [
            {"name": one.name, "vhost": rename(one.vhost), "type": one.type, "durable": one.durable,
             "auto_delete": one.auto_delete, "internal": one.internal, "arguments": one.arguments}
            for one in routing.exchanges
            if (one.vhost, one.name) not in gone
        ],
        "bindings": [
            {"source": one.source, "vhost": rename(one.vhost), "destination": one.destination,
             "destination_type": one.destination_type, "routing_key": one.routing_key, "arguments": one.arguments}
            for one in routing.bindings
            if (one.vhost, one.source) not in gone
            and (one.vhost, one.destination) not in (left if one.destination_type == "queue" else gone)
        ],
    }  # fmt: skip


def new_default_types(plan: Migration) -> dict[str, str]:
    """Return the default queue types of new virtual hosts, by the names of those whose queues are moved to them."""
    kind = plan.new_default_type
    return {} if kind is None else dict.fromkeys((move.queue.vhost for move in plan.moved), kind)


def vhosts(plan: Migration) -> list[str]:
    """Return all vhosts, in the order of their first use."""
    of_queues = (move.queue.vhost for move in plan.moves)
    of_policies = (one.policy.vhost for one in plan.splits)
    of_routing = (one.vhost for one in (*plan.routing.exchanges, *plan.routing.bindings))
    return list(dict.fromkeys([*plan.routing.vhosts, *of_queues, *of_policies, *of_routing]))


def beside(plan: Migration) -> dict[str, str]:
    """Return an unused name for a new vhost beside each vhost."""
    names, taken = {}, set(vhosts(plan))
    for vhost in vhosts(plan):
        name = SUFFIX if vhost == "/" else f"{vhost}-{SUFFIX}"
        number = 1
        while name in taken:
            number += 1
            name = f"{vhost}-{SUFFIX}-{number}"
        taken.add(name)
        names[vhost] = name
    return names


def _is_exported(move: Move) -> bool:
    """Return True for a queue that is to be imported: one that lasts, and that no plugin declares for itself."""
    queue = move.queue
    owned = queue.type != QUORUM and owner(queue.name, queue.facts.arguments) is not None
    return not (queue.facts.exclusive or owned) and queue.type in TYPES


def _queue(move: Move) -> dict[str, object]:
    facts = move.queue.facts
    quorum = move.type == "quorum"
    return {
        "name": move.queue.name,
        "durable": quorum or facts.durable is not False,
        "auto_delete": not quorum and facts.auto_delete is True,
        "type": move.type,
        "arguments": move.arguments,
    }


def _body(policy: Policy) -> dict[str, object]:
    return {
        "pattern": policy.pattern,
        "definition": policy.definition,
        "priority": policy.priority,
        "apply-to": policy.apply_to,
    }


def _policy(policy: Policy) -> dict[str, object]:
    return {"name": policy.name, **_body(policy)}


def _operator_policy(policy: Policy) -> dict[str, object]:
    return {"component": "operator_policy", "name": policy.name, "value": _body(policy)}
