"""Play one story under each setting of a policy's keys and each way to lose a node, for the switches of a lesson.

Three nodes, and a queue on a with millions of messages. First b is restarted, then c, as in an update, each with enough
time to synchronise. Then a goes down, a client publishes, and a comes back after five minutes. So a wrong setting costs
minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct

from hawb.cluster import Cluster
from hawb.languages import N_, _
from hawb.views.formatting import brief, counted, left, size, whole

TYPE, FAULT = N_("queue type"), N_("what happens to a")
MIRRORED, QUORUM = "mirrored", "quorum"
SWITCHES: dict[str, tuple[str, ...]] = {
    TYPE: (MIRRORED, QUORUM),
    "ha-mode": ("all", "exactly", "nodes"),
    "ha-params": ("1", "2", "3"),
    "ha-sync-mode": ("manual", "automatic"),
    "ha-promote-on-shutdown": ("when-synced", "always"),
    "ha-promote-on-failure": ("always", "when-synced"),
    FAULT: ("stop", "kill", "power off"),
}
"""The switches and their values; RabbitMQ's default comes first, for keys that have one."""

START = {key: values[0] for key, values in SWITCHES.items()} | {"ha-params": "2", FAULT: "kill"}
"""The initial setting of the switches."""

BACKLOG, LATE = 7_200_000, 1000
"""The messages before the fault, and those that a client publishes after a has gone down."""

NODES = ("a", "b", "c")
GONE_S, LATE_S, BACK_S, END_S = 3000, 3120, 3300, 4500
"""Seconds at which a goes down, a client publishes, a is started again, and the story ends."""

LEAST_S = 1.0
"""Shorter outages, in seconds, are not shown."""


class Ending(Struct, frozen=True):
    """The end of the story, for the messages and for the queue.

    `lost` counts confirmed messages that were lost, `down_s` is how long publishing was impossible, `blocked_s` how
    long synchronisation blocked the queue, `confirmed_late` counts the late messages that were confirmed, and `held` is
    the share of the backlog on each node once the other nodes had detected the failure of a.
    """

    lost: int
    down_s: float
    blocked_s: float
    confirmed_late: int
    held: tuple[float, ...]

    @property
    def tone(self) -> str:
        """Return the worst effect: lost messages, an unavailable or blocked queue (harmed), or none (well)."""
        slow = self.down_s >= LEAST_S or self.blocked_s >= LEAST_S or self.confirmed_late < LATE
        return "lost" if self.lost else "harmed" if slow else "well"

    def lines(self) -> list[str]:
        """Return each effect on its own line."""
        costs = [
            (self.lost, _("{messages} lost", messages=counted(self.lost))),
            (self.down_s >= LEAST_S, _("out of use for {time}", time=left(self.down_s))),
            (self.blocked_s >= LEAST_S, _("blocked for {time}", time=left(self.blocked_s))),
            (self.confirmed_late < LATE, _("{count} messages not confirmed", count=whole(LATE - self.confirmed_late))),
        ]
        return [text for is_so, text in costs if is_so] or [_("nothing is lost, and the queue was always in use")]

    def brief(self) -> str:
        """Return the worst effect in a few words."""
        if self.lost:
            return _("{count} lost", count=brief(self.lost))
        if self.down_s >= LEAST_S and self.down_s >= self.blocked_s:
            return _("{time} out of use", time=left(self.down_s))
        return _("{time} blocked", time=left(self.blocked_s)) if self.blocked_s >= LEAST_S else _("all well")


def definition(setting: Mapping[str, str]) -> dict:
    """Return the policy's definition.

    ha-params is left out where ha-mode has none; for `nodes` it is a list of as many nodes.
    """
    count = int(setting["ha-params"])
    params = {"exactly": count, "nodes": list(NODES[:count])}
    keys = ("ha-mode", "ha-sync-mode", "ha-promote-on-shutdown", "ha-promote-on-failure")
    more = {"ha-params": params[setting["ha-mode"]]} if setting["ha-mode"] in params else {}
    return {key: setting[key] for key in keys} | more


def story(setting: Mapping[str, str]) -> Cluster:
    """Return the cluster just before a comes back, when lost and waiting messages are most visible.

    Raise ValueError for an unknown key or value.
    """
    return _told(_checked(setting))[0]


def before(setting: Mapping[str, str]) -> Cluster:
    """Return the cluster just before a goes down."""
    return _told(_checked(setting))[1]


def ending(setting: Mapping[str, str]) -> Ending:
    """Return how the story ends. Raise ValueError for an unknown key or value."""
    return _told(_checked(setting))[2]


def _checked(setting: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values in the order of the switches."""
    for key, value in setting.items():
        if value not in SWITCHES.get(key, ()):
            raise ValueError(f"{key}: {value!r} cannot be switched to; there are {SWITCHES}")
    return tuple((START | dict(setting))[key] for key in SWITCHES)


@cache
def _told(values: tuple[str, ...]) -> tuple[Cluster, Cluster, Ending]:
    """Return the cluster while a is down, the cluster before that, and the ending.

    Settings with the same effect are played again, which takes milliseconds.
    """
    setting = dict(zip(SWITCHES, values, strict=True))
    cluster = Cluster(*NODES, version="3.10")
    if setting[TYPE] == QUORUM:
        cluster.declare("orders", node="a", arguments={"x-queue-type": "quorum"})
    else:
        cluster.set_policy("ha", "^orders", definition(setting)).declare("orders", node="a")
    cluster.publish("orders", BACKLOG, node="a", at=10)
    cluster.stop("b", at=1000).start("b", at=1060).stop("c", at=2000).start("c", at=2060).wait(0, at=GONE_S - 1)
    whole_before = cluster.copy()
    getattr(cluster, setting[FAULT].replace(" ", "_"))("a", at=GONE_S)
    cluster.publish("orders", LATE, node="b", at=LATE_S).wait(0, at=BACK_S - 1)
    away = cluster.copy()
    cluster.start("a", at=BACK_S).wait(0, at=END_S)
    return away, whole_before, _ending(cluster, away)


def _ending(cluster: Cluster, away: Cluster) -> Ending:
    outcome = cluster.outcome
    account, times = outcome["ledger"]["orders"], outcome["availability"]["orders"]
    late = [[max(first, BACKLOG + 1), last] for first, last in account["confirmed"] if last > BACKLOG]
    replicas = away.queues["orders"]["replicas"]
    return Ending(
        lost=account["lost_confirmed"],
        down_s=times["publish_down_s"],
        blocked_s=times["sync_blocked_s"],
        confirmed_late=size(late),
        held=tuple(min(1.0, replicas.get(node, {}).get("messages", 0) / BACKLOG) for node in NODES),
    )


class Cell(Struct, frozen=True):
    """A cell of the grid: a setting, and how the story ends with it."""

    setting: dict[str, str]
    ending: Ending


def grid(setting: Mapping[str, str], keys: Sequence[str]) -> list[tuple[str, str, list[Cell]]]:
    """Return a row for each value of each of the `keys` that has an effect in the setting.

    A row is the key, its value, and a cell for each fault. The other keys are as in the setting.
    """
    now = START | dict(setting)
    return [
        (key, value, [_cell(now | {key: value, FAULT: fault}) for fault in SWITCHES[FAULT]])
        for key in keys if key != FAULT and applies(now, key) for value in SWITCHES[key]
    ]  # fmt: skip


def _cell(setting: dict[str, str]) -> Cell:
    return Cell(setting, ending(setting))


def applies(setting: Mapping[str, str], key: str) -> bool:
    """Return True if a key has an effect: a quorum queue has no mirrors, and `all` takes no ha-params."""
    if key in (TYPE, FAULT):
        return True
    return setting[TYPE] == MIRRORED and (key != "ha-params" or setting["ha-mode"] != "all")


def changed(was: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the differences between two endings, one to a line."""
    one, other = ending(was), ending(now)
    pairs = [
        (_("lost"), counted(one.lost), counted(other.lost)),
        (_("out of use"), left(one.down_s), left(other.down_s)),
        (_("blocked"), left(one.blocked_s), left(other.blocked_s)),
        (_("confirmed afterwards"), counted(one.confirmed_late), counted(other.confirmed_late)),
    ]
    return [f"{what}: {before} → {after}" for what, before, after in pairs if before != after]
