"""Find why a boot failed or a process crashed: the most informative word of RabbitMQ or Erlang in the message.

Reasons are Erlang terms that may extend over many lines, so a message is searched without its white space. Marks are
searched as text, one after the other, most informative first: no message, however long, costs more than one pass for
each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

FLAG, FLAGS, CLUSTER, LEADER, TABLES = "flag", "flags", "cluster", "leader", "tables"
SCHEMA, PORT, COOKIE, DISK, ACCESS = "schema", "port", "cookie", "disk", "access"
DAMAGE, SETTINGS, HOST, ERLANG, TIMEOUT = "damage", "settings", "host", "erlang", "timeout"
DENIED, VERSIONS, UPGRADE, PLUGINS, DEFINITIONS = "denied", "versions", "upgrade", "plugins", "definitions"
LISTENER, ADDRESS, OPEN_FILES, EMPTY = "listener", "address", "open files", "empty"

MARKS: Mapping[str, str] = {
    "ra_log_segment_crc_check_failure": DAMAGE,
    "ra_log_segment_unexpected_eof": DAMAGE,
    "wal_checksum_validation_failure": DAMAGE,
    "crc_validation_failure": DAMAGE,
    "corrupted_segment": DAMAGE,
    "failed CRC check": DAMAGE,
    "CRC32 check failed": DAMAGE,
    "corrupt_or_missing_cluster_files": DAMAGE,
    "corrupt_cluster_status_files": DAMAGE,
    "failed_to_deny_deprecated_features": DENIED,
    "associated feature is being actively used": DENIED,
    "deny deprecated feature because it is actively used": DENIED,
    "disabled_required_feature_flag": FLAG,
    "required feature flag not enabled": FLAG,
    "incompatible_feature_flags": FLAGS,
    "INCOMPATIBLE: feature flags": FLAGS,
    "unsupported feature flag": FLAG,
    "version mismatch: local node is": VERSIONS,
    "Mnesia protocol negotiation failed": VERSIONS,
    "inconsistent_cluster": CLUSTER,
    "thinks it's clustered with": CLUSTER,
    "cluster_already_initialized_but_tables_empty": EMPTY,
    "Node has already been initialized, but database appears empty": EMPTY,
    "failed_to_cluster_with": CLUSTER,
    "timeout_waiting_for_leader": LEADER,
    "timeout_waiting_for_khepri_projections": LEADER,
    "timeout_waiting_for_tables": TABLES,
    "failed_waiting_for_tables": TABLES,
    "Timeout contacting cluster nodes": TABLES,
    "schema_integrity_check_failed": SCHEMA,
    "table_attributes_mismatch": SCHEMA,
    "table_missing": SCHEMA,
    "table_content_invalid": SCHEMA,
    "incompatible_schema": SCHEMA,
    "Incompatible schema": SCHEMA,
    "cannot_create_schema": SCHEMA,
    "Bad cookie in table definition": SCHEMA,
    "Incompatible schema cookies": SCHEMA,
    "previous_upgrade_failed": SCHEMA,
    "version_not_available": SCHEMA,
    "Either previous upgrade is in progress or has failed": SCHEMA,
    "Cluster upgrade needed but": UPGRADE,
    "eaddrinuse": PORT,
    "dist_port_already_used": PORT,
    "eaddrnotavail": ADDRESS,
    "could_not_start_listener": LISTENER,
    "Failed to start TCP listener": LISTENER,
    "Failed to start TLS listener": LISTENER,
    "Failed to start Ranch listener": LISTENER,
    "could not bind to distribution port": PORT,
    "duplicate_node_name": PORT,
    "is already running on host": PORT,
    "must be accessible by owner only": COOKIE,
    "Failed to create cookie file": COOKIE,
    "Failed to read cookie": COOKIE,
    ".erlang.cookie": COOKIE,
    "bad_cookie": COOKIE,
    "enospc": DISK,
    "no space left on device": DISK,
    "erofs": DISK,
    "eacces": ACCESS,
    "permission denied": ACCESS,
    "emfile": OPEN_FILES,
    "enfile": OPEN_FILES,
    "too many open files": OPEN_FILES,
    "could_not_read_defs": DEFINITIONS,
    "failed_to_import_definitions": DEFINITIONS,
    "invalid_definitions_file": DEFINITIONS,
    "cannot_read_enabled_plugins_file": PLUGINS,
    "malformed_enabled_plugins_file": PLUGINS,
    "failed_to_update_enabled_plugins_file": PLUGINS,
    "plugin_built_with_incompatible_erlang": PLUGINS,
    "plugin_module_unloadable": PLUGINS,
    "failed_to_unzip_plugin": PLUGINS,
    "app_file_missing": PLUGINS,
    "missing_dependencies": PLUGINS,
    "failed to open log file": ACCESS,
    "failed to create parent directory for log file": ACCESS,
    "cannot_log_to_file": ACCESS,
    "failed_to_prepare_configuration": SETTINGS,
    "failed_to_parse_configuration_file": SETTINGS,
    "failed_to_parse_advanced_configuration_file": SETTINGS,
    "failed_to_read_advanced_configuration_file": SETTINGS,
    "no_configuration_schema_found": SETTINGS,
    "config_decryption_error": SETTINGS,
    "bad_config_entry_decoder": SETTINGS,
    "Missing passphrase": SETTINGS,
    "configuration_translation_failure": SETTINGS,
    "invalid_dist_port_range": SETTINGS,
    "Invalid Erlang distribution TCP port": SETTINGS,
    "Erlang distribution running with another node name": SETTINGS,
    "invalid_port": SETTINGS,
    "invalid_host": SETTINGS,
    "Error while decrypting key": SETTINGS,
    "epmd error": HOST,
    "epmd_error": HOST,
    "no_epmd_port": HOST,
    "nxdomain": HOST,
    "erlang_version_too_old": ERLANG,
    "This RabbitMQ version cannot run on Erlang": ERLANG,
    "failed_to_initialize_feature_flags_registry": FLAG,
    "feature_flag_registry_reload_failure": FLAG,
    "channel_operation_timeout": TIMEOUT,
    "channel_termination_timeout": TIMEOUT,
    "{timeout,{gen_": TIMEOUT,
    "{timeout,{'Elixir": TIMEOUT,
    "due to timeout": TIMEOUT,
    "operation timed out": TIMEOUT,
    "timed out consuming": TIMEOUT,
    "{error,timeout}": TIMEOUT,
}
"""Cause for each text that a log message may contain. The first text found decides."""
PACKED = {"".join(mark.split()): mark for mark in MARKS}
OF_CRASHES = frozenset({DAMAGE, DISK, OPEN_FILES, TIMEOUT})
"""Causes of process crashes; the other causes are those of failed boots."""

SAYS_WHY = re.compile(r"\*\* Reason for termination|exception (?:exit|error|throw)|[Rr]eason: ")
GROUP = re.compile(r"(?:State machine|[Pp]rocess|registered_name:|child)\s+'([^'\n]{1,300})'")
RESOURCE = re.compile(r"\{resource,\s*<<\"([^\"\n]{1,300})\">>,\s*queue,\s*<<\"([^\"\n]{1,300})\">>\}")
RAFT = ("ra_server", "ra_log")


class Process(NamedTuple):
    """The queue to which a process belonged, if the report of its crash names it."""

    vhost: str | None = None
    queue: str | None = None


def cause(text: str) -> str | None:
    """Return the mark of the cause in a message, a key of MARKS; None if there is none."""
    packed = "".join(text.split())
    return next((mark for found, mark in PACKED.items() if found in packed), None)


def cause_of_crash(text: str) -> str | None:
    """Return the code of the reason in a crash report, without looking at the report's state; None if there is none."""
    found = SAYS_WHY.search(text)
    mark = cause(text[found.start() :]) if found else None
    return mark if mark and MARKS[mark] in OF_CRASHES else None


def process(text: str) -> Process:
    """Return the queue of a process that crashed.

    A member of a quorum queue is named after its queue (`rabbit_quorum_queue:qname_to_internal_name`), and the process
    of a classic queue has the queue record in its state.
    """
    found = GROUP.search(text)
    if found and (found[1].startswith("%2F_") or any(one in text for one in RAFT)):
        vhost, _, queue = found[1].partition("_")
        return Process("/" if vhost == "%2F" else vhost, queue) if queue else Process()
    if any(one in text for one in ("amqqueue", "prequeue")) and (found := RESOURCE.search(text)):
        return Process(found[1], found[2])
    return Process()
