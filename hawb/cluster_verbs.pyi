"""The methods of `hawb.Cluster` for verbs, except `publish`. Made by `python -m hawb.scenario.signatures`."""

from collections.abc import Iterable
from typing import Any, Literal, Self

class Verbs:
    def set_policy(self, name: str, pattern: str, definition: dict[str, Any], priority: int = 0, apply_to: str = 'queues', vhost: str = '/', *, at: float | None = None) -> 'Self':
        """`rabbitmqctl set_policy`.

        Example: `cluster.set_policy("ha-orders", r"^orders$", {"ha-mode": "all"})`
        """

    def set_operator_policy(self, name: str, pattern: str, definition: dict[str, Any], priority: int = 0, apply_to: str = 'queues', vhost: str = '/', *, at: float | None = None) -> 'Self':
        """`rabbitmqctl set_operator_policy`.

        Example: `cluster.set_operator_policy("ha-orders", r"^orders$", {"ha-mode": "all"})`
        """

    def clear_policy(self, name: str, vhost: str = '/', *, at: float | None = None) -> 'Self':
        """`rabbitmqctl clear_policy`.

        Example: `cluster.clear_policy("ha-orders")`
        """

    def clear_operator_policy(self, name: str, vhost: str = '/', *, at: float | None = None) -> 'Self':
        """`rabbitmqctl clear_operator_policy`.

        Example: `cluster.clear_operator_policy("ha-orders")`
        """

    def declare(self, queue: str, node: str | None = None, durable: bool = True, exclusive: bool = False, auto_delete: bool = False, passive: bool = False, arguments: dict[str, Any] | None = None, connection: str = 'default', *, at: float | None = None) -> 'Self':
        """queue.declare.

        Example: `cluster.declare("orders")`
        """

    def delete(self, queue: str, if_empty: bool = False, if_unused: bool = False, node: str | None = None, *, at: float | None = None) -> 'Self':
        """queue.delete.

        Example: `cluster.delete("orders")`
        """

    def purge(self, queue: str, *, at: float | None = None) -> 'Self':
        """queue.purge.

        Example: `cluster.purge("orders")`
        """

    def bind(self, queue: str, exchange: str, routing_key: str, *, at: float | None = None) -> 'Self':
        """queue.bind to a direct exchange. You need not declare the exchange.

        Example: `cluster.bind("orders", "logs", "app")`
        """

    def publisher(self, name: str, queue: str, rate: float, size: int = 1024, persistent: bool = True, mode: "Literal['confirm', 'plain', 'tx']" = 'confirm', node: str | None = None, *, at: float | None = None) -> 'Self':
        """A steady publisher of `rate` messages per second until it is closed.

        Example: `cluster.publisher("app", "orders", 100)`
        """

    def consume(self, consumer: str, queue: str, node: str | None = None, prefetch: int = 0, global_prefetch: bool = False, ack: "Literal['manual', 'auto']" = 'manual', exclusive: bool = False, priority: int = 0, cancel_on_ha_failover: bool = False, cancel_notify: bool = True, rate: float | None = None, connection: str = 'default', *, at: float | None = None) -> 'Self':
        """basic.consume. With a `rate`, the consumer acknowledges that many messages per second. Without it, use `ack`.

        Example: `cluster.consume("worker", "orders")`
        """

    def ack(self, consumer: str, count: "int | Literal['all']" = 'all', *, at: float | None = None) -> 'Self':
        """basic.ack: acknowledge messages of a consumer or of a `get`, oldest delivery first.

        Example: `cluster.ack("worker")`
        """

    def nack(self, consumer: str, count: "int | Literal['all']" = 'all', requeue: bool = True, *, at: float | None = None) -> 'Self':
        """basic.nack: negatively acknowledge messages of a consumer or of a `get`, oldest delivery first.

        Example: `cluster.nack("worker")`
        """

    def get(self, queue: str, count: int, ack: bool = True, consumer: str | None = None, *, at: float | None = None) -> 'Self':
        """basic.get. With `ack=False`, use the name `consumer` in a later `ack` or `nack` of these messages.

        Example: `cluster.get("orders", 10)`
        """

    def cancel(self, consumer: str, *, at: float | None = None) -> 'Self':
        """basic.cancel. The consumer keeps its name and its unacknowledged messages.

        Example: `cluster.cancel("worker")`
        """

    def close(self, name: str, *, at: float | None = None) -> 'Self':
        """The connection, publisher or consumer with this name closes. Its unacknowledged messages are requeued.

        Example: `cluster.close("app")`
        """

    def stop(self, *nodes: str, at: float | None = None) -> 'Self':
        """`rabbitmqctl stop`: the nodes shut down in a controlled way.

        Example: `cluster.stop("a")`
        """

    def kill(self, *nodes: str, at: float | None = None) -> 'Self':
        """kill -9: peers see the connection break at once.

        Example: `cluster.kill("a")`
        """

    def power_off(self, *nodes: str, at: float | None = None) -> 'Self':
        """The host loses power: peers notice after net_ticktime.

        Example: `cluster.power_off("a")`
        """

    def start(self, *nodes: str, at: float | None = None) -> 'Self':
        """The nodes boot.

        Example: `cluster.start("a")`
        """

    def wipe(self, node: str, *, at: float | None = None) -> 'Self':
        """The node is down and its disk is lost; the other nodes still count it as a member.

        Example: `cluster.wipe("a")`
        """

    def force_boot(self, node: str, *, at: float | None = None) -> 'Self':
        """`rabbitmqctl force_boot`, then a start that does not wait for the node that stopped last.

        Example: `cluster.force_boot("a")`
        """

    def drain(self, node: str, *, at: float | None = None) -> 'Self':
        """`rabbitmq-upgrade drain`.

        Example: `cluster.drain("a")`
        """

    def revive(self, node: str, *, at: float | None = None) -> 'Self':
        """`rabbitmq-upgrade revive`.

        Example: `cluster.revive("a")`
        """

    def crash(self, queue: str, node: str | None = None, *, at: float | None = None) -> 'Self':
        """The queue's process crashes on `node` (None: on the master's node). The node continues to run.

        Example: `cluster.crash("orders")`
        """

    def partition(self, *groups: Iterable[str], at: float | None = None) -> 'Self':
        """All links between the groups silently drop their messages.

        Example: `cluster.partition(["a"], ["b", "c"])`
        """

    def cut(self, *links: Iterable[str], at: float | None = None) -> 'Self':
        """The links between these pairs of nodes silently drop their messages.

        Example: `cluster.cut(("a", "b"))`
        """

    def heal(self, *, at: float | None = None) -> 'Self':
        """All links work again.

        Example: `cluster.heal()`
        """

    def alarm(self, node: str, resource: "Literal['memory', 'disk']" = 'memory', *, at: float | None = None) -> 'Self':
        """A resource alarm is set on a node.

        Example: `cluster.alarm("a")`
        """

    def clear_alarm(self, node: str, resource: "Literal['memory', 'disk']" = 'memory', *, at: float | None = None) -> 'Self':
        """A resource alarm of a node is cleared.

        Example: `cluster.clear_alarm("a")`
        """

    def join(self, node: str, *, at: float | None = None) -> 'Self':
        """`rabbitmqctl join_cluster`: a new node, known and down before this step, joins the cluster.

        Example: `cluster.join("a")`
        """

    def reset(self, node: str, *, at: float | None = None) -> 'Self':
        """`rabbitmqctl reset`: a stopped node forgets the cluster and its data.

        Example: `cluster.reset("a")`
        """

    def force_reset(self, node: str, *, at: float | None = None) -> 'Self':
        """`rabbitmqctl force_reset`: a stopped node forgets the cluster and its data, and the others are not informed.

        Example: `cluster.force_reset("a")`
        """

    def force_standalone_khepri_boot(self, node: str, *, at: float | None = None) -> 'Self':
        """`rabbitmqctl force_standalone_khepri_boot`: a node whose peers are gone for good becomes the only member.

        Example: `cluster.force_standalone_khepri_boot("a")`
        """

    def force_shrink(self, node: str, *, at: float | None = None) -> 'Self':
        """`rabbit_quorum_queue:force_all_queues_shrink_member_to_current_member/0`: queues keep only this node's member.

        Example: `cluster.force_shrink("a")`
        """

    def forget_cluster_node(self, node: str, from_: str | None = None, offline: bool = False, *, at: float | None = None) -> 'Self':
        """`rabbitmqctl forget_cluster_node [--offline]`, run on `from_` (None: the first running node).

        Example: `cluster.forget_cluster_node("a")`
        """

    def sync_queue(self, queue: str, *, at: float | None = None) -> 'Self':
        """`rabbitmqctl sync_queue`.

        Example: `cluster.sync_queue("orders")`
        """

    def cancel_sync_queue(self, queue: str, *, at: float | None = None) -> 'Self':
        """`rabbitmqctl cancel_sync_queue`.

        Example: `cluster.cancel_sync_queue("orders")`
        """

    def add_member(self, queue: str, node: str, *, at: float | None = None) -> 'Self':
        """`rabbitmq-queues add_member`.

        Example: `cluster.add_member("orders", "a")`
        """

    def delete_member(self, queue: str, node: str, *, at: float | None = None) -> 'Self':
        """`rabbitmq-queues delete_member`.

        Example: `cluster.delete_member("orders", "a")`
        """

    def grow(self, node: str, strategy: "Literal['all', 'even']" = 'all', pattern: str = '.*', *, at: float | None = None) -> 'Self':
        """`rabbitmq-queues grow`.

        Example: `cluster.grow("a")`
        """

    def shrink(self, node: str, *, at: float | None = None) -> 'Self':
        """`rabbitmq-queues shrink`.

        Example: `cluster.shrink("a")`
        """

    def transfer_leadership(self, queue: str, node: str, *, at: float | None = None) -> 'Self':
        """The leader of a quorum queue hands over to the member on `node`.

        Example: `cluster.transfer_leadership("orders", "a")`
        """

    def rebalance(self, *, at: float | None = None) -> 'Self':
        """`rabbitmq-queues rebalance all`.

        Example: `cluster.rebalance()`
        """

    def wait(self, seconds: float, *, at: float | None = None) -> 'Self':
        """Simulated time passes.

        Example: `cluster.wait(60)`
        """

    def expect(self, outcome: dict[str, Any], *, at: float | None = None) -> 'Self':
        """A partial outcome that `hawb check` compares at this point; `hawb run` skips it.

        Example: `cluster.expect({"losses": []})`
        """
