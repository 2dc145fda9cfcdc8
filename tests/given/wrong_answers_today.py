"""Wrong answers to the exercises of notebook 28, on a cluster of today, and why each is refused."""

from __future__ import annotations

from answer_steps import forgotten, policy, stories

OURS = r"^orders\."
RESCUE = {"dead-letter-exchange": "rescue", "dead-letter-routing-key": "poison"}
GROWN = {"grow": {"node": "d"}}


def out_of_reach(milliseconds: int) -> dict:
    """Return a policy on how long unreachable consumers keep their messages."""
    return policy(OURS, {"consumer-disconnected-timeout": milliseconds})


ON_TODAY = {
    "28-poison": [
        (policy(OURS, RESCUE), "crashed 21 workers; the task asks for"),
        (policy(OURS, RESCUE | {"delivery-limit": 3}), "crashed 4 workers; the task asks for"),
        (policy(OURS, RESCUE | {"delivery-limit": 1}), "crashed 2 workers; the task asks for"),
        (policy(OURS, RESCUE | {"delivery-limit": -1}), "crashed 40 workers"),
        (policy(OURS, {"delivery-limit": 2}), "Then the message was gone: nothing came to “looked into”"),
        (policy(OURS, {"delivery-limit": 2, "dead-letter-exchange": "rescue"}), "Then the message was gone"),
        (policy("orders", RESCUE | {"delivery-limit": 2}), "The policy also matches reorders.eu"),
        (policy(r"^orders\.eu", RESCUE | {"delivery-limit": 2}), "another one with the nodes w3, w1 and w2"),
        (policy(OURS, RESCUE | {"delivery-limit": 2, "max-length": 5}), "The message has crashed no workers"),
        (stories("stop a"), "is not a policy"),
    ],
    "28-reach": [
        (
            policy(OURS, {"consumer-timeout": 30_000}),
            "back after 80 s, and 2 messages had been given to another worker",
        ),
        (out_of_reach(60_000), "40 s after c was killed, no other worker has its"),
        (out_of_reach(30), "back after 80 s, and 2 messages had been given to another worker"),
        (out_of_reach(10_000), "back after 80 s, and 2 messages had been given to another worker"),
        (policy(r"^orders\.eu", {"consumer-disconnected-timeout": 30_000}), "another one with the nodes w3, w1 and w2"),
    ],
    "28-replace": [
        ([], "At the end the members of orders are on a, b and c"),
        (stories("stop c"), "After step 1: if a were killed now, .* would be unavailable, with 3 members"),
        (stories("shrink c", "join d"), "After step 1: if a were killed now, .* would be unavailable, with 2 members"),
        (stories("join d"), "At the end the members of orders are on a, b and c"),
        ([*stories("join d"), GROWN], "At the end the members of orders are on a, b, c and d"),
        ([*stories("join d"), GROWN, *stories("shrink c")], "c is still a member of the cluster"),
        (
            [*stories("join d"), GROWN, *stories("stop c"), forgotten("c")],
            "After step 3: if a were killed now, .* would be unavailable, with 4 members",
        ),
        ([*stories("join d"), GROWN, *stories("shrink c"), forgotten("c")], "RabbitMQ refuses step 4"),
        (stories("kill c"), "here a step is one of join, grow"),
    ],
    "28-leaders": [
        ([], "a, b and c were not restarted"),
        ([{"rebalance": True}], "a, b and c were not restarted"),
        (stories("stop a"), "At the end a is not running"),
        (stories("stop a", "start a", "stop b", "start b", "stop c", "start c"), r"leads \d queue"),
        (
            [*stories("stop a", "start a", "stop b", "start b", "stop c"), {"rebalance": True}, *stories("start c")],
            r"a leads \d queues",
        ),
        ([*stories("stop a", "stop b", "start a", "start b", "stop c", "start c"), {"rebalance": True}], "out of use"),
        (stories("kill a"), "here a step is one of stop, start"),
    ],
}
