"""Read listings of a running cluster: placement and depth of queues, the nodes and which of them run.

hawb recognises a listing by its content, not by its name. Besides queue listings (`queue_rows`) it reads the management
API's /api/nodes, /api/overview and /api/policies, and rabbitmqctl's `cluster_status` and `list_policies` as JSON.

Facts are merged in the order of the files: a later fact replaces an earlier one, and the queues concerned are noted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Raw, Struct

from hawb.engine.core.naming import join_queue
from hawb.exports.definitions import Definitions, Key, Policy, policy_entry
from hawb.exports.queue_rows import LISTINGS, QueueFacts, is_queue_listing, json_rows, text_rows
from hawb.exports.untrusted import Empty, ImportRefused, check_json, decode, named, quoted, read_text, released, worded
from hawb.scenario.fields import Count, Name


class NodeFacts(Struct):
    """A node as /api/nodes lists it. `io_sync_avg_time` is the recent average time of an fsync, in milliseconds."""

    name: Name
    running: bool = True
    type: str | None = None
    net_ticktime: Annotated[int, Meta(ge=0, le=10**9)] | str | None = None
    partitions: list[str] = []
    mem_alarm: bool | None = None
    disk_free_alarm: bool | None = None
    being_drained: bool | None = None
    io_sync_avg_time: Annotated[float, Meta(ge=0, le=10**9)] | None = None


class ClusterStatus(Struct):
    """The answer of `rabbitmqctl cluster_status --formatter json`."""

    class Versions(Struct):
        """The versions of one node."""

        rabbitmq_version: str | None = None

    running_nodes: list[Name]
    disk_nodes: list[Name] = []
    ram_nodes: list[Name] = []
    partitions: dict[str, list[str]] | Empty = {}
    alarms: list[Raw] = []
    maintenance_status: dict[str, str] | Empty = {}
    versions: dict[str, Versions] | Empty = {}


class Overview(Struct):
    """The answer of /api/overview."""

    class Totals(Struct):
        """The counts of the whole cluster."""

        queues: Count | None = None

    class Rates(Struct):
        """Counts of messages that clients published and brokers confirmed since the nodes started."""

        publish: Count = 0
        confirm: Count = 0

    rabbitmq_version: str | None = None
    object_totals: Totals | Empty | None = None
    message_stats: Rates | Empty | None = None


class Page(Struct):
    """A page of the management API, as /api/queues?page=1 returns it."""

    items: Raw
    page_count: Count = 1


@dataclass
class Listings:
    """The facts of all listings together.

    `nodes` maps each node of the cluster to whether it runs, and is empty if no listing has nodes. `overruled` maps
    (fact, file) to the queues for which that file replaced an earlier, different fact. `pages` is the number of pages
    of the API's listing of queues, and `pages_read` how many of them are among the files. `queue_total`, `published`
    and `confirmed` are the cluster's own counts of queues and messages. `fsync_ms` is the time of an fsync on the
    slowest node.
    """

    definitions: Definitions
    queues: dict[Key, QueueFacts] = field(default_factory=dict)
    nodes: dict[str, bool] = field(default_factory=dict)
    policies: dict[Key, dict[str, Any]] = field(default_factory=dict)
    net_ticktime: int | None = None
    fsync_ms: float | None = None
    release: str | None = None
    queue_total: int | None = None
    pages: int = 0
    pages_read: int = 0
    published: int | None = None
    confirmed: int | None = None
    overruled: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    notes: list[str] = field(default_factory=list)

    def read(self, file: Path, vhost: str | None) -> None:
        """Add the facts of a file. Raise ImportRefused if it is no listing.

        `vhost` is the virtual host of rows that name none. If it is None, it is inferred from the queues' names.
        """
        text = read_text(file)
        if text.lstrip()[0] not in "[{":
            self._add_queues(file, vhost, text_rows(file, text))
            return
        check_json(file, text)
        place, source, keys = self._open(file, text)
        if is_queue_listing(keys):
            self._add_queues(file, vhost, json_rows(file, place, source))
        elif {"pattern", "definition"} <= keys:
            self._add_policies(file, decode(file, place, source, list[Policy]))
        elif {"name", "running"} <= keys:
            self._add_node_facts(file, decode(file, place, source, list[NodeFacts]))
        elif "running_nodes" in keys:
            self._add_status(file, decode(file, place, source, ClusterStatus))
        elif "object_totals" in keys:
            self._add_overview(file, decode(file, place, source, Overview))
        elif keys:
            raise ImportRefused(file, "the whole file", "a listing of something else", LISTINGS)
        else:
            self.notes.append(f"{file.name}: empty")

    def _open(self, file: Path, text: str) -> tuple[str, str | Raw, set[str]]:
        """Return (place, JSON, keys) of a file that holds an object or a list; the keys are those of the first item."""
        if text.lstrip()[0] == "{":
            keys = set(decode(file, "", text, dict[str, Raw]))
            if "items" not in keys:
                return "", text, keys
            page = decode(file, "", text, Page)
            self.pages_read, self.pages = self.pages_read + 1, max(self.pages, page.page_count)
            if page.page_count > 1:
                self.notes.append(f"{file.name}: one of {page.page_count} pages")
            place, source = "items", page.items
        else:
            place, source = "", text
        items = decode(file, place, source, list[Raw])
        return place, source, set(decode(file, f"{place}[0]", items[0], dict[str, Raw])) if items else set()

    def _add_queues(self, file: Path, vhost: str | None, found: Iterable[tuple[str | None, str, QueueFacts]]) -> None:
        rows = list(found)
        homeless = {name for home, name, _ in rows if home is None}
        if homeless and vhost is None:
            vhost = self._infer_vhost(file, homeless)
            self.notes.append(f"{file.name}: taken as the queues of virtual host {quoted(vhost)}, by their names")
        elif vhost and not homeless:
            self.notes.append(f"{file.name}: its rows name their virtual hosts, {quoted(vhost)} is not used")
        for home, name, facts in rows:
            self._merge(file, (home or vhost, name), facts)

    def _merge(self, file: Path, key: Key, facts: QueueFacts) -> None:
        known = self.queues.setdefault(key, facts)
        if known is facts:
            return
        for name in QueueFacts.__struct_fields__:
            earlier, later = getattr(known, name), getattr(facts, name)
            if later is not None:
                setattr(known, name, later)
                if earlier not in (None, later):
                    self.overruled[name, file.name].append(join_queue(*key))

    def _infer_vhost(self, file: Path, names: set[str]) -> str:
        """Return the virtual host whose definitions have each of these queues that any virtual host has.

        Raise ImportRefused if not exactly one virtual host fits.
        """
        homes: dict[str, set[str]] = {vhost: set() for vhost in self.definitions.vhosts}
        for vhost, name in self.definitions.queues:
            if name in names:
                homes.setdefault(vhost, set()).add(name)
        known = set().union(*homes.values())
        fitting = [vhost for vhost, found in homes.items() if found == known]
        if len(fitting) != 1:
            raise ImportRefused(
                file, "the queues' names", "names without their virtual host", f"VHOST={file.name}"
            )
        return fitting[0]

    def _add_policies(self, file: Path, policies: list[Policy]) -> None:
        """Compare listed policies or operator policies with the definitions. Use the listed ones.

        Both kinds are listed in the same form.
        """
        listed = {(policy.vhost or "/", policy.name): policy_entry(file, policy) for policy in policies}
        operator, plain = self.definitions.operator_policies, self.definitions.policies
        for key, entry in listed.items():
            table = operator if key in operator and key not in plain else plain
            if table.get(key) != entry and operator.get(key) != entry:
                how = "otherwise" if key in table else "not"
                self.notes.append(f"policy {quoted('::'.join(key))}: {how} in the definitions; {file.name} is used")
                table[key] = entry
        vhosts = {vhost for vhost, name in listed if (vhost, name) in plain}
        for key in [key for key in plain if key not in listed and key[0] in vhosts]:
            self.notes.append(f"policy {quoted('::'.join(key))}: not in {file.name}, the definitions are used")

    def _add_nodes(self, file: Path, nodes: dict[str, bool]) -> None:
        for node in [node for node in self.nodes if node not in nodes]:
            self.notes.append(f"{file.name}: does not name node {quoted(node)}, which an earlier listing names")
        for node, running in nodes.items():
            if self.nodes.get(node, running) != running:
                self.notes.append(f"{file.name}: contradicts an earlier listing on whether {quoted(node)} runs")
        self.nodes |= nodes

    def _add_node_facts(self, file: Path, nodes: list[NodeFacts]) -> None:
        self._add_nodes(file, {node.name: node.running for node in nodes})
        ticks = {node.net_ticktime for node in nodes if isinstance(node.net_ticktime, int) and node.net_ticktime}
        if len(ticks) > 1:
            self.notes.append(f"{file.name}: the nodes differ in net_ticktime ({sorted(ticks)}); the largest is used")
        self.net_ticktime = max(ticks, default=self.net_ticktime)
        self.fsync_ms = max((node.io_sync_avg_time for node in nodes if node.io_sync_avg_time), default=self.fsync_ms)
        for node in nodes:
            states = {
                "a RAM node": node.type == "ram",
                "a memory alarm": node.mem_alarm,
                "a disk alarm": node.disk_free_alarm,
                "being drained": node.being_drained,
                f"a partition from {named(node.partitions)}": node.partitions,
            }
            self.notes += (f"node {quoted(node.name)}: {state}, not imported" for state, so in states.items() if so)

    def _add_status(self, file: Path, status: ClusterStatus) -> None:
        running = set(status.running_nodes)
        members = dict.fromkeys([*status.disk_nodes, *status.ram_nodes, *status.running_nodes])
        self._add_nodes(file, {node: node in running for node in members})
        self.notes += (f"node {quoted(node)}: a RAM node, not imported" for node in status.ram_nodes)
        if status.alarms:
            self.notes.append(f"{file.name}: {len(status.alarms)} alarms in effect, not imported")
        for node, others in dict(status.partitions).items():
            self.notes.append(f"node {quoted(node)}: a partition from {named(others)}, not imported")
        for node, state in dict(status.maintenance_status).items():
            if state != "not under maintenance":
                self.notes.append(f"node {quoted(node)}: {worded(state)}, not imported")
        releases = {version.rabbitmq_version for version in dict(status.versions).values()} - {None}
        if len(releases) > 1:
            names = ", ".join(map(released, sorted(releases)))
            self.notes.append(f"{file.name}: nodes of different releases ({names}); none is used")
        elif releases:
            self.release = releases.pop()

    def _add_overview(self, file: Path, overview: Overview) -> None:
        self.release = overview.rabbitmq_version or self.release
        if isinstance(overview.object_totals, Overview.Totals):
            self.queue_total = overview.object_totals.queues
        if isinstance(overview.message_stats, Overview.Rates):
            self.published, self.confirmed = overview.message_stats.publish, overview.message_stats.confirm
