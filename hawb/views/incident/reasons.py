"""Reasons in words: those that Erlang and RabbitMQ log, and the causes of failed boots."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hawb.incident import causes
from hawb.incident.cluster_event import ClusterEvent
from hawb.views.formatting import listing, shown
from hawb.views.incident.names import Names

REASONS: Mapping[str, str] = {
    "net_tick_timeout": "nothing was received from {it} for net_ticktime",
    "connection_closed": "the connection to {it} was closed",
    "disconnect": "the connection to {it} was closed",
    "home node down": "its node is down",
}
"""Erlang's reasons why a node is down, in words."""
TERM = re.compile(r"(?:(?:error|exit|throw):)?[{\[]")
"""The beginning of an Erlang term, or of an exception's class with a term."""
ATOMS = re.compile(r"(?<![<\w])[a-z]\w*(?![\w>])")
"""The atoms of an Erlang term from which other words were removed."""
CAUSES: Mapping[str, str] = {
    causes.FLAG: "{flags} {are} not enabled, or not known to all nodes",
    causes.DENIED: "the cluster uses {features}, which RabbitMQ no longer permits here",
    causes.FLAGS: "its feature flags and those of {others} are not compatible",
    causes.CLUSTER: "the other nodes do not consider it a member of their cluster, or it does not consider them"
                    " members",
    causes.VERSIONS: "its release, or its Erlang version, is not compatible with that of the other nodes",
    causes.EMPTY: "it belonged to a cluster before, and its database is empty",
    causes.LEADER: "it waited without success for a leader of the metadata store, which needs a majority of the nodes",
    causes.TABLES: "it waited without success for the tables of {others}",
    causes.SCHEMA: "the tables on its disk do not match this release or the other nodes",
    causes.UPGRADE: "the upgrade of its cluster has to begin with another node",
    causes.PORT: "a port{about}, or its name, is already in use",
    causes.COOKIE: "the file of its Erlang cookie cannot be used",
    causes.DISK: "the disk is full or cannot be written",
    causes.ACCESS: "it may not read or write a file",
    causes.OPEN_FILES: "it may not open more files",
    causes.LISTENER: "a listener{about} could not be started",
    causes.ADDRESS: "it was to listen{about} on an address that its host does not have",
    causes.DEFINITIONS: "the definitions that it imports when it boots cannot be imported",
    causes.PLUGINS: "a plugin cannot be loaded",
    causes.DAMAGE: "data on its disk is damaged",
    causes.SETTINGS: "its configuration is not valid",
    causes.HOST: "the name of a host is not found, or its epmd does not answer",
    causes.ERLANG: "its Erlang is too old",
    causes.TIMEOUT: "it waited without success",
}
"""The reasons of failed boots, by the cause that their log messages show."""
TAKEN_OUT = re.compile(r"<\w+>")
"""The placeholder of a removed word."""


def is_informative(reason: str | None) -> bool:
    """Return True if a reason contains more than placeholders of removed words."""
    return bool(TAKEN_OUT.sub("", reason or "").strip(" .,:{}[]()"))


def in_words(reason: str, it: str) -> str:
    """Return a reason in words; of an Erlang term, its atoms."""
    if TERM.match(reason):
        atoms = [*dict.fromkeys(ATOMS.findall(reason))]
        reason = ", ".join([atom for atom in atoms if atom != "error"] or atoms) or reason
    return REASONS.get(reason, "{reason}").format(it=it, reason=shown(reason))


def boot_why(part: Sequence[ClusterEvent], names: Names) -> str:
    """Return why boots failed, in words, followed by RabbitMQ's own words; "" if the reason is not known."""
    first = part[0]
    if first.reason is None or not is_informative(first.reason):
        return ""
    if first.reason not in causes.MARKS:
        return f" ({in_words(first.reason, 'it')})"
    named = dict.fromkeys(name for one in part for name in re.split(r",\s*", one.name or "") if name)
    about = listing(map(names.node, named))
    words = CAUSES[causes.MARKS[first.reason]].format(
        about=f" ({about})" if about else "", others=about or "other nodes",
        flags=f"the feature flag {about}" if len(named) == 1 else f"the feature flags {about}" if named
        else "a feature flag that it needs", features=f"the deprecated {'feature' if len(named) == 1 else 'features'}"
        f" {about}" if about else "a deprecated feature", are="is" if len(named) < 2 else "are",
    )  # fmt: skip
    return f": {words} ({shown(first.reason)})"
