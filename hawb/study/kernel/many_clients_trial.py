"""One trial with clients on every node: the differences from one with a publisher and a consumer."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import (
    client_times,
    deliveries,
    departure,
    failover_ports,
    flows,
    many_clients_deliveries,
    many_clients_flows,
    many_clients_state,
    network_ports,
    partitioned_khepri_trial,
    partitioned_state,
    partitioned_trial,
    publishing,
    state,
    steady_ports,
    trial,
    upkeep,
)
from hawb.study.kernel.answers import client_gone
from hawb.study.kernel.client_times import watch
from hawb.study.kernel.deliveries import close
from hawb.study.kernel.departure import has_master
from hawb.study.kernel.mailbox import is_awaited
from hawb.study.kernel.many_clients_deliveries import cancel, close_at, list_active, wait_for_master
from hawb.study.kernel.many_clients_state import keep_circle, look_at, take_circle
from hawb.study.kernel.state import (
    CLOSED,
    MOST_NODES,
    NONE,
    SHUT_DOWN,
    schedule,
)
from hawb.study.kernel.steady import late_us
from hawb.study.kernel.upkeep import follows_rate, is_where_it_wants, keep_connected

puts_aside, takes_up = partitioned_state.put_aside, partitioned_state.take_up
keeps_consuming, sends_away, lets_consume = upkeep.keep_consuming, upkeep.send_away, upkeep.let_consume


# Sides


@inner
def put_aside(t, place, number):
    """Copy the records of the current side to a place, as those of the side of that number."""
    puts_aside(t, place, number)
    keep_circle(t, place)


@inner
def take_up(t, place):
    """Make the side current whose records are kept at a place."""
    take_circle(t, place)
    takes_up(t, place)


# Publishers


@inner
def number_connection(t, p):
    """Give a publisher's new connection the next number."""
    last = 0
    for k in range(t.setup.nodes):
        last = max(last, t.publishers[k].number)
    p.number = last + 1


@inner
def place_of(t, client):
    """Return the place of the publisher that prefers a node."""
    for k in range(t.setup.nodes):
        if t.publishers[k].client == client:
            return k
    return NONE


@inner
def keep_publishing_at(t, client):
    """Connect a publisher if it is not connected, and let it follow its rate. A new connection comes last."""
    place = place_of(t, client)
    number = t.publishers[place].number
    keep_connected(t, t.publishers[place])
    if t.publishers[place].number != number:
        t.publishers[MOST_NODES] = t.publishers[place]
        for k in range(place, t.setup.nodes - 1):
            t.publishers[k] = t.publishers[k + 1]
        t.publishers[t.setup.nodes - 1] = t.publishers[MOST_NODES]


@inner
def keep_publishing(t):
    """Connect the publishers that are not connected, and let them follow their rate."""
    for client in range(t.setup.nodes):
        keep_publishing_at(t, client)


@inner
def follow_rate(t):
    """Apply the present rate to the publishers that are connected."""
    for client in range(t.setup.nodes):
        if not t.publishers[place_of(t, client)].closed:
            keep_publishing_at(t, client)


# Consumers


@inner
def keep_consuming(t):
    """Connect the consumers that are not connected, as they want."""
    for client in range(t.setup.nodes):
        look_at(t, client)
        keeps_consuming(t)


@inner
def send_away(t):
    """Close the consumers' channels, and keep them closed."""
    for client in range(t.setup.nodes):
        look_at(t, client)
        sends_away(t)


@inner
def let_consume(t):
    """Let the consumers consume again."""
    for client in range(t.setup.nodes):
        look_at(t, client)
        lets_consume(t)


@inner
def are_connected(t):
    """Return True if all publishers and consumers are connected as they want."""
    for client in range(t.setup.nodes):
        look_at(t, client)
        if not (follows_rate(t, t.publishers[client]) and is_where_it_wants(t)):
            return False
    return True


@inner
def lose_master(t, q):
    """Let the consumers wait for a master, or cancel them."""
    for k in range(list_active(t)):
        if is_awaited(t, q):
            wait_for_master(t, t.hand_order[k])
        else:
            cancel(t, t.hand_order[k])


@inner
def close_masters_consumers(t, node):
    """Close the consumers at a stopping node of the master on it; return True if there were any."""
    closes = False
    for k in range(t.all_clients.subscribed_once):
        look_at(t, t.by_subscription[k])
        if has_master(t, node) and t.consumer.node == node and t.consumer.state != CLOSED:
            close(t)
            closes = True
    if closes:
        schedule(t, 0, SHUT_DOWN, node)
    return closes


@inner
def disconnect(t, node):
    """Close the clients' connections of a node that is drained."""
    client_gone(t, node)
    close_at(t, node)


@inner
def clients_gone(t, gone, dead):
    """Close the consumers of nodes that went down."""
    for node in range(t.setup.nodes):
        if (gone & dead) >> node & 1:
            close_at(t, node)


# Times


@inner
def watch_clients(t):
    """Note since when each publisher's messages are not confirmed, and those for each consumer not delivered."""
    for client in range(t.setup.nodes):
        look_at(t, client)
        watch(t, t.publishers[place_of(t, client)], t.clients[client])


@inner
def unconfirmed_us(t):
    """Return for how long publishers' messages were not confirmed in time, in all."""
    total_us = 0
    for client in range(t.setup.nodes):
        one = t.clients[client]
        total_us += one.unconfirmed_us + late_us(one.unconfirmed_since, t.moment.now_us, t.setup.deadline_us)
    return total_us


@inner
def undelivered_us(t):
    """Return for how long consumers were not sent ready messages in time, in all."""
    total_us = 0
    for client in range(t.setup.nodes):
        one = t.clients[client]
        total_us += one.undelivered_us + late_us(one.undelivered_since, t.moment.now_us, t.setup.deadline_us)
    return total_us


OF_CLIENTS = {
    state.look_at: look_at, state.clients: many_clients_state.clients,
    **{getattr(steady_ports, port): getattr(many_clients_flows, port) for port in (
        "publishers", "publishers_to", "rated_consumers", "is_subscribed", "has_to_itself", "within_reach",
        "stale_count", "lacked_up_to", "answers_until",
    )},
    **{getattr(deliveries, name): getattr(many_clients_deliveries, name) for name in (
        "held", "unanswered", "still_holds", "late_ones", "come_back", "deliver", "settle", "subscribe",
        "is_subscribed", "consume", "close",
    )},
    flows.flow_through: many_clients_flows.flow_through,
    failover_ports.detach: many_clients_deliveries.detach,
    failover_ports.follow_new_master: many_clients_deliveries.follow_new_master,
    failover_ports.lose_master: lose_master, network_ports.lose_sight: many_clients_deliveries.lose_sight,
    departure.close_masters_consumers: close_masters_consumers, departure.disconnect: disconnect,
    departure.clients_gone: clients_gone,
    partitioned_state.put_aside: put_aside, partitioned_state.take_up: take_up,
    publishing.number_connection: number_connection,
    client_times.watch_clients: watch_clients, client_times.unconfirmed_us: unconfirmed_us,
    client_times.undelivered_us: undelivered_us,
    trial.set_up_clients: many_clients_state.set_up_clients, trial.clear_clients: many_clients_state.clear_clients,
    **{getattr(upkeep, name): part for name, part in (
        ("keep_publishing", keep_publishing), ("follow_rate", follow_rate), ("keep_consuming", keep_consuming),
        ("send_away", send_away), ("let_consume", let_consume), ("are_connected", are_connected),
    )},
}  # fmt: skip
PARTS, KHEPRI_PARTS = partitioned_trial.PARTS | OF_CLIENTS, partitioned_khepri_trial.PARTS | OF_CLIENTS
"""The functions of a trial with clients on every node, by those that they replace; and of one beside Khepri."""
