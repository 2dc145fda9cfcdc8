"""Import a cluster from its files: a scenario, and notes on what the files lack and what a scenario cannot hold.

hawb notes each assumption. Where no file has a fact, the scenario's default applies, and a note names the queues. A
queue that a scenario cannot hold (an exclusive queue, one of another type) is left out, and a note names it. Where
files disagree, the later one is used: the definitions come first, then the listings in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hawb.engine.core.naming import join_queue
from hawb.exports.definitions import Definitions, holds_export, read_definitions
from hawb.exports.listings import Listings
from hawb.exports.queue_entries import QueueEntries
from hawb.exports.untrusted import ImportRefused, named, quoted, released
from hawb.rules.nearest_profile import nearest, profile_for
from hawb.rules.profiles import PROFILES, Profile
from hawb.scenario.document import Scenario
from hawb.scenario.load import read_scenario

_SETTINGS = ("net_ticktime", "cluster_partition_handling", "queue_master_locator")
_MOST_MADE_UP_NODES = 7


class Live(NamedTuple):
    """The facts about the running cluster that the files contain: by default, all of them.

    `nodes_listed` is True if a file names the nodes, `queues_listed` if listings have all queues. `unlisted` has the
    queues whose placement, replicas or depth no listing has. `listed_down` maps the queues that a listing has as
    unusable to their states there.
    """

    nodes_listed: bool = True
    queues_listed: bool = True
    unlisted: tuple[str, ...] = ()
    listed_down: Mapping[str, str] = {}
    vhosts: tuple[str, ...] = ("/",)

    @property
    def known(self) -> bool:
        """Return True if no fact is missing."""
        return self.nodes_listed and self.queues_listed and not self.unlisted


ALL_KNOWN = Live()


@dataclass(frozen=True)
class Imported:
    """A scenario without steps, as the document of a scenario file, and notes on what it lacks, a line each.

    `depths_unknown` names the queues that the scenario has as empty because no file has their depth. `live` is what the
    files say about the running cluster.
    """

    scenario: dict[str, Any]
    notes: list[str]
    depths_unknown: frozenset[str]
    live: Live = ALL_KNOWN


def import_cluster(definitions: str | Path | None, listings: Sequence[str | Path] = ()) -> Imported:
    """Return the cluster of a definitions export, if there is one, and of listings of the same cluster.

    Each source is FILE or VHOST=FILE, where VHOST is the virtual host of entries that name none. Raise ImportRefused.
    """
    defined = Definitions() if definitions is None else read_definitions(*split_source(definitions))
    listed = Listings(defined)
    for source in listings:
        listed.read(*split_source(source))
    notes: list[str] = []
    version = _version(defined, listed, notes)
    queues = QueueEntries(defined, listed, PROFILES[version])
    nodes = _nodes(defined, listed, queues.named_nodes(), notes)
    settings = defined.settings | ({"net_ticktime": listed.net_ticktime} if listed.net_ticktime else {})
    scenario = {
        "scenario": f"An imported cluster: {_counted(len(nodes), 'node')}, {_counted(len(queues.entries), 'queue')}",
        "cluster": _cluster(version, nodes, settings),
        "policies": _known(defined.policies.values(), PROFILES[version], False, notes),
        "operator_policies": _known(defined.operator_policies.values(), PROFILES[version], True, notes),
        "queues": queues.entries,
        "steps": [],
    }
    notes += [*queues.notes(), *listed.notes, *defined.notes, *_empty_vhosts(defined, listed)]
    notes.append(f"{_unknown(settings, defined.settings_left)}: not in these files; the scenario's defaults are used")
    live = Live(
        bool(listed.nodes or defined.nodes), bool(listed.queues) and queues.complete(), queues.unlisted(),
        queues.listed_down(), tuple(defined.vhosts),
    )  # fmt: skip
    return Imported(scenario, list(dict.fromkeys(notes)), queues.depths_unknown(), live)


def scenario_of(files: Sequence[str | Path]) -> tuple[Scenario, list[str]]:
    """Return the scenario of some files, one of them a definitions export, and the notes of its import, a line each.

    Raise ImportRefused, or ScenarioRefused if a scenario cannot hold the cluster.
    """
    imported = imported_of(files)
    return read_scenario(imported.scenario), imported.notes


def imported_of(files: Sequence[str | Path]) -> Imported:
    """Return the cluster of some files, one of which is its definitions export. Raise ImportRefused."""
    if not any(holds_export(split_source(file)[0]) for file in files):
        raise ImportRefused(split_source(files[0])[0], "all files", "no definitions export",
                            "an export, as rabbitmqctl export_definitions writes it, and listings")  # fmt: skip
    return import_files(files)


def import_files(files: Sequence[str | Path]) -> Imported:
    """Return the cluster of some files, one of which may be its definitions export. Raise ImportRefused."""
    export = next((file for file in files if holds_export(split_source(file)[0])), None)
    return import_cluster(export, [file for file in files if file != export])


def split_source(source: str | Path) -> tuple[Path, str | None]:
    """Return (file, virtual host or None) of FILE or VHOST=FILE. A text that is the path of a file is taken as FILE."""
    vhost, separator, file = str(source).partition("=")
    if not separator or not vhost or Path(source).exists():
        return Path(source), None
    return Path(file), vhost


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _version(defined: Definitions, listed: Listings, notes: list[str]) -> str:
    """Return the rules profile of the cluster's release."""
    release = listed.release or defined.release
    if listed.release and defined.release and listed.release != defined.release:
        notes.append(f"release {released(listed.release)} in a listing, {released(defined.release)} in the definitions")
    version = nearest(release) if release else None
    if version is None:
        given = f"release {released(release)}" if release else "no release"
        notes.append(f"{given} in the files: profile 3.8, the default")
        return "3.8"
    if release != PROFILES[version].release:
        notes.append(nearest_note(str(release)))
    return version


def nearest_note(release: str) -> str:
    """Return a note on the profile that is used for a release which has none of its own."""
    profile = profile_for(release)
    return f"release {released(release)}: profile {profile.version} is the nearest, with the rules of {profile.release}"


def _known(policies: Iterable[dict], profile: Profile, operator: bool, notes: list[str]) -> list[dict]:
    """Return policies without the settings that the release does not know.

    An upgraded cluster keeps policies with such settings if they were set before; the settings have no effect.
    """
    known = profile.operator_policy_settings if operator else profile.policy_settings
    kept = []
    for policy in policies:
        left = [key for key in policy["definition"] if key not in known]
        definition = {key: value for key, value in policy["definition"].items() if key in known}
        if left:
            name = quoted(join_queue(policy["vhost"], policy["name"]))
            whole = "" if definition else "; without these settings the policy is empty, so it is left out"
            notes.append(f"{'operator ' * operator}policy {name}: RabbitMQ {profile.release} does not know"
                         f" {named(left)}: left out{whole}")  # fmt: skip
        if definition or not left:
            kept.append(policy | {"definition": definition})
    return kept


def _unknown(settings: Mapping[str, Any], left: Collection[str]) -> str:
    """Return a phrase that names the settings that no file has.

    `left` are the settings that a file has and a scenario cannot hold.
    """
    missing = [name for name in _SETTINGS if name not in settings and name not in left]
    others = "other " if (settings.keys() | set(left)) - set(_SETTINGS) else ""
    return ", ".join([*missing, f"the {others}quorum and mirroring settings and the network"])


def _cluster(version: str, nodes: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, Any]:
    cluster: dict[str, Any] = {"nodes": list(nodes), "version": version, **settings}
    if down := {node: how for node, how in nodes.items() if how != "running"}:
        cluster["down"] = down
    return cluster


def _nodes(defined: Definitions, listed: Listings, standing: list[str], notes: list[str]) -> dict[str, str]:
    """Return each node with its status: running, stopped or forgotten.

    The nodes are those of the listings or resources, else those that queues (`standing`) and policies name. A node that
    has queues and is missing from a listing of all nodes has left the cluster.
    """
    in_policies = dict.fromkeys(_policy_nodes(defined))
    known = listed.nodes or defined.nodes
    if not known:
        nodes = sorted({*standing, *in_policies})
        if nodes:
            notes.append(f"no listing has the nodes: hawb uses those that queues and policies name, {named(nodes)}")
        else:
            nodes = [f"node{number}" for number in range(1, _needed_nodes(defined) + 1)]
            notes.append(f"no file names a node: hawb invents {named(nodes)}, as many as the policies and queues need")
        return dict.fromkeys(nodes, "running")
    nodes = {node: "running" if runs else "stopped" for node, runs in known.items()}
    for node in standing:
        if node not in nodes:
            nodes[node] = "forgotten"
            notes.append(f"node {quoted(node)}: has queues, but no node listing names it: imported as a node that"
                         " has left the cluster")  # fmt: skip
    if strangers := [node for node in in_policies if node not in nodes]:
        notes.append(f"policies name {named(strangers)}, which the cluster does not have")
    if down := [node for node, how in nodes.items() if how == "stopped"]:
        notes.append(f"{named(down)} are down: the files do not say in which order these nodes went down; hawb"
                     " assumes that they were stopped in this order")
    return nodes


def _policy_nodes(defined: Definitions) -> Iterator[str]:
    for policy in defined.policies.values():
        listed = policy["definition"].get("ha-params")
        if policy["definition"].get("ha-mode") == "nodes" and isinstance(listed, list):
            yield from (node for node in listed if isinstance(node, str) and node)


def _needed_nodes(defined: Definitions) -> int:
    """Return three, or the largest `exactly` or initial group size, up to a limit."""
    asked = [policy["definition"].get("ha-params") for policy in defined.policies.values()]
    sizes = ("x-quorum-initial-group-size", "x-initial-cluster-size")
    asked += [queue.arguments.get(key) for queue in defined.queues.values() for key in sizes]
    return min(max([3, *(number for number in asked if isinstance(number, int))]), _MOST_MADE_UP_NODES)


def _empty_vhosts(defined: Definitions, listed: Listings) -> Iterator[str]:
    full = {vhost for table in (defined.queues, listed.queues, defined.policies) for vhost, _ in table}
    if empty := [vhost for vhost in defined.vhosts if vhost not in full]:
        yield f"virtual hosts {named(empty)}: not imported, because they have neither a queue nor a policy"
