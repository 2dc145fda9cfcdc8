"""Wrong answers to the exercises of notebooks 21 to 23, on stops, upgrades and replicas, and why each is refused."""

from __future__ import annotations

from answer_steps import AUTOMATIC, CALLS, QUORUM, SYNC, TWO, declaration, in_rooms, member, policy, stories

THIRD_VOTE = {"add_member": {"queue": "votes", "node": "c"}}
JOBS_EMPTY, JOBS_MIRRORED = (
    {"set_policy": {"name": "jobs", "pattern": "^jobs$", "definition": definition}}
    for definition in ({"ha-mode": "all"}, AUTOMATIC)
)
SYNC_CALLS = {"sync_queue": "calls"}
ROLL = [{verb: node} for node in "cba" for verb in ("stop", "start")]


def with_ten(queue: str, arguments: dict | None = None, *more: dict) -> list[dict]:
    """Return steps that declare a queue on a, publish 10 messages, and then `more`."""
    return [declaration(queue, arguments, node="a"), {"publish": {"queue": queue, "count": 10}}, *more]


ON_PLANNING = {
    "21-safe": [
        ([], "When a is stopped, jobs cannot be used until the node is back. There was no mirror to take over"),
        ([JOBS_MIRRORED], "When a is stopped, orders cannot be used until the node is back. No mirror was"),
        ([SYNC], "When a is stopped, jobs cannot be used until the node is back. There was no mirror to take over"),
        ([SYNC, JOBS_MIRRORED], "votes cannot be used until the node is back. Too few of its members are left"),
        ([SYNC, JOBS_EMPTY, THIRD_VOTE], "jobs cannot be used until the node is back. No mirror was synchronised"),
        ([in_rooms(CALLS), JOBS_MIRRORED, THIRD_VOTE], "orders loses 100 messages, 100 of them confirmed"),
        ([SYNC, in_rooms(AUTOMATIC | {"max-length": 1}), JOBS_MIRRORED, THIRD_VOTE], "has 1 message left out of 10"),
        (stories("stop a"), "here a step is one of sync_queue"),
    ],
    "21-missed": [
        ([], "A stop of a loses nothing: every queue stays in use"),
        (with_ten("q"), "A stop of a loses nothing: q cannot be used until the node is back"),
        (with_ten("ha.q", {}, *stories("stop b", "start b", "stop c", "start c")), "A check fails on a.* names ha.q"),
        (with_ten("q", QUORUM, *stories("stop b")), "A check fails on a, and names q"),
        (with_ten("ha.q", {}, *stories("stop a")), "a does not run"),
        ([{"kill": "a"}], "here a step is one of declare"),
    ],
    "22-roll": [
        ([], "a, b and c were not restarted"),
        (stories("stop c", "start c", "stop b", "start b", "stop a", "start a"), "calls lost 100 messages"),
        ([*ROLL[:4], SYNC, *ROLL[4:]], "calls lost 100 messages"),
        ([*ROLL[:4], SYNC_CALLS, *ROLL[4:]], "orders was down for 6.0 s"),
        ([*ROLL[:4], SYNC, SYNC_CALLS, {"stop": "a"}], "At the end a is not running"),
        ([{"stop": ["b", "c"]}, {"start": ["b", "c"]}, SYNC, SYNC_CALLS, *ROLL[4:]], "votes was down for 6.303 s"),
    ],
    "22-probe": [
        (policy(r"^orders\.", {"ha-mode": "all"}), "is down for"),
        (policy(r"^orders\.", {"ha-mode": "exactly", "ha-params": 2}), "is down for"),
        (policy(r"^orders\.", CALLS), "loses 100 messages"),
        (policy(r"^orders\.", AUTOMATIC | {"max-length": 1}), "has 1 message left out of 100"),
        (policy(r"^orders\.eu", AUTOMATIC), "but not in another one .*Your policy does not apply"),
    ],
    "23-members": [
        ([], "When a fails, nothing more is confirmed: 2 members on a and b"),
        ([member("delete", "b")], "When a fails, nothing more is confirmed: 1 member on a"),
        ([member("add", "c"), member("add", "d")], "4 members tolerate 1 failure, and write everything 4 times. 3 wo"),
        ([{"grow": {"node": node}} for node in "cde"], "5 members tolerate 2 failures"),
        ([member("add", "a")], "nothing more is confirmed: 2 members on a and b"),
    ],
    "23-mirrors": [
        (policy(r"^orders\.", AUTOMATIC), "There are 5 copies. With 3, any two nodes may fail"),
        (policy(r"^orders\.", TWO), "is down with 100 messages of 100, of 2 copies"),
        (policy(r"^orders\.", TWO | {"ha-params": 3, "ha-sync-mode": "manual"}), "with no messages of 100"),
        (policy("^other", TWO), "of 1 copy"),
    ],
}
