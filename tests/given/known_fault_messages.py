"""Messages about what broke by itself, made by hand from the format that RabbitMQ's or Erlang's source has at the
rule's module and function, with what the rule is to tell of them."""

from __future__ import annotations

from typing import Any

from known_messages import OF, OF_THE_MODEL, QUEUE, A, B, C, Q

STREAM = {"name": "__s_1", "peer": B, "term": 2}

OF_FAULTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    # of boots that fail
    ("===========", "boot_failed", {}),
    ("Error during startup: {error,\n                       {schema_integrity_check_failed,[]}}", "boot_failed",
     {"reason": "{error,"}),
    ("Exception during startup:\n\nexit:{error,x}\n\n    rabbit:start_it/1, line 487", "boot_failed",
     {"reason": "exit:{error,x}"}),
    (f"Timeout contacting cluster nodes: ['{B}'].\n\nBACKGROUND\n==========", "boot_failed", {"reason": f": ['{B}']"}),
    ("ERROR: epmd error for host b.example: nxdomain (non-existing domain)", "boot_failed",
     {"reason": "b.example: nxdomain (non-existing domain)"}),
    ("ERROR: could not bind to distribution port 25672, it is in use by another node: rabbit@b", "boot_failed",
     {"reason": "25672, it is in use by another node: rabbit@b"}),
    ('ERROR: node with name "rabbit" is already running on host "b"', "boot_failed", {"reason": '"b"'}),
    ("Error description:\n   {could_not_start,rabbit,\n    {{x,y}}}", "boot_failed",
     {"reason": "{could_not_start,rabbit,"}),
    ("Feature flags: `stream_queue`: required feature flag not enabled! It must be enabled before upgrading RabbitMQ.",
     "boot_error", {"name": "stream_queue", "reason": "disabled_required_feature_flag"}),
    ("Failed to initialize feature flags registry: {disabled_required_feature_flag,\n    stream_queue}", "boot_error",
     {"reason": "{disabled_required_feature_flag,"}),
    (f"Feature flags: node `{B}` is INCOMPATIBLE: feature flags enabled remotely are not supported locally",
     "boot_error", {"name": B, "reason": "incompatible_feature_flags"}),
    (f"Feature flags: nodes `{A}` and `{B}` are incompatible", "boot_error",
     {"name": B, "reason": "incompatible_feature_flags"}),
    ("Error preparing configuration in phase validation:\n  - x is invalid", "boot_error",
     {"name": "validation", "reason": "failed_to_prepare_configuration"}),
    ("Failed to start TCP listener [::]:5672, error: {{shutdown,\n  {failed_to_start_child,x}}}", "boot_error",
     {"name": "5672", "reason": "{{shutdown,"}),
    ("Failed to start Ranch listener {acceptor,{0,0,0,0,0,0,0,0},5672} in ranch_tcp:listen([{ip,x}]) for reason "
     "eaddrinuse (address already in use)", "boot_error",
     {"name": "5672", "reason": "eaddrinuse"}),
    (f"** Connection attempt from node '{B}' rejected. Invalid challenge reply. **", "cookie_refused", {"peer": B}),
    (f"** Connection attempt to node '{B}' aborted since it failed the challenge **", "cookie_refused", {"peer": B}),
    (f"** Connection attempt from disallowed node '{B}' **", "cookie_refused", {"peer": B}),
    ("Discovered no peer nodes to cluster with", "formed_alone", {}),
    ("Discovered no peer nodes to cluster with. Some discovery backends can filter nodes out based on a readiness "
     "criteria. Enabling debug logging might help troubleshoot.", "formed_alone", {}),
    ("Peer discovery: discovered no peer nodes to cluster with. Some discovery backends can filter nodes out",
     "formed_alone", {}),
    ("Peer discovery: could not discover and join another node; proceeding as a standalone node", "formed_alone", {}),
    ("Could not successfully contact any node of: rabbit@b,rabbit@c (as in Erlang distribution). Starting as a blank "
     "standalone node...", "formed_alone", {}),
    ("Application rabbit exited with reason: {{shutdown,{x,y}},{rabbit,start,[normal,[]]}}", "application_ended",
     {"name": "rabbit", "reason": "{{shutdown,{x,y}},{rabbit,start,[normal,[]]}}"}),
    # of streams, and of what is on disk
    (f"rabbit_stream_coordinator: Error while starting replica for __s_1 on node {B} in 2 : {{error,nodedown}}",
     "stream_failed", STREAM | {"reason": "{error,nodedown}"}),
    (f"rabbit_stream_coordinator: failed to start writer __s_1 on {B} in 2 Error: {{error,x}}", "stream_failed",
     STREAM | {"reason": "{error,x}"}),
    (f"rabbit_stream_coordinator: failed to stop member __s_1 '{B}' Error: {{error,x}}", "stream_failed",
     {"name": "__s_1", "peer": B, "reason": "{error,x}"}),
    (f"rabbit_stream_coordinator: failed to get tail of member __s_1 on {B} in 2 Error: {{error,x}}", "stream_failed",
     STREAM | {"reason": "{error,x}"}),
    (f"rabbit_stream_coordinator: Error while deleting member for __s_1 : on node {B} {{error,x}}", "stream_failed",
     {"name": "__s_1", "peer": B, "reason": "{error,x}"}),
    (f"rabbit_stream_coordinator: error while executing action starting for stream queue __s_1,  node {B}, epoch 2 "
     "Err: noconnection", "stream_failed", STREAM | {"reason": "noconnection"}),
    ("__s_1 [osiris_replica:handle_continue/2] failed to start replica reader on node 'rabbit@b'. Reason noproc.",
     "stream_failed", {"name": "__s_1", "reason": "noproc"}),
    ("__s_1 [osiris_replica_reader:init/1] could not connect replica reader to replica at [\"b\"] port 6000, Reason: "
     "econnrefused", "stream_failed", {"name": "__s_1", "reason": "econnrefused"}),
    ("could not connect osiris to replica at [\"b\"]", "stream_failed", {"reason": '["b"]'}),
    ("__s_1 [osiris_replica:handle_info/2] replica reader <0.1.0> exited with tcp_closed", "stream_reader_ended",
     {"name": "__s_1", "reason": "tcp_closed"}),
    ("__s_1 [osiris_replica_reader:handle_info/2] detected leader down with noconnection - exiting...",
     "stream_reader_ended", {"name": "__s_1", "reason": "noconnection"}),
    ("osiris_replica_reader: '__s_1' detected leader down with noconnection - exiting...", "stream_reader_ended",
     {"name": "__s_1", "reason": "noconnection"}),
    (f"Coordinator timeout on server '{B}' when processing command new_stream", "coordinator_failed",
     {"peer": B, "reason": "timeout"}),
    (f"Stream coordinator could not be started on nodes ['{B}','{C}']", "coordinator_failed",
     {"nodes": (B, C), "reason": "cluster_not_formed"}),
    (f"Stream coordinator failed to start on node {B} : {{error,x}}", "coordinator_failed",
     {"peer": B, "reason": "{error,x}"}),
    (f"Stream coordinator server failed to start on node {B} : {{error,x}}", "coordinator_failed",
     {"peer": B, "reason": "{error,x}"}),
    ("Failed to start stream client <0.1.0>: coordinator unavailable", "coordinator_failed",
     {"reason": "coordinator_unavailable"}),
    ("WAL: record failed CRC check during recovery. Unable to recover WAL data safely", "data_corrupt",
     {"name": "the write-ahead log of Raft"}),
    ("WAL in quorum_queues: record failed CRC check during recovery. Unable to recover WAL data safely", "data_corrupt",
     {"name": "the write-ahead log of Raft"}),
    ("crc validation failure at chunk id 12data size 100:", "data_corrupt", {"name": "a stream's segment"}),
    ("Multiple corrupted chunks in segment file \"x.segment\"", "data_corrupt", {"name": "a stream's segment"}),
    ("Per-queue store CRC32 check failed in /var/lib/x/0.qs seq id 1 offset 2 size 3", "data_corrupt",
     {"name": "a classic queue's store"}),
    # of clients that waited in vain
    (f"Channel error on connection <0.1.0> ({OF}, vhost: '/', user: 'o'mary'), channel 1:\noperation basic.consume "
     f"caused a channel exception not_found: home node '{B}' of durable {Q} is down or inaccessible",
     "queue_unavailable", QUEUE | {"peer": B, "reason": "home node down"}),
    (f"Channel error on connection <0.1.0> ({OF}, vhost: '/', user: 'o'mary'), channel 1:\noperation queue.declare "
     f"caused a channel exception not_found: {Q} process is stopped by supervisor", "queue_unavailable",
     QUEUE | {"reason": "stopped"}),
    (f"Channel error on connection <0.1.0> ({OF}, vhost: '/', user: 'o'mary'), channel 1:\noperation queue.declare "
     f"caused a channel exception not_found: {Q} has crashed and failed to restart", "queue_unavailable",
     QUEUE | {"reason": "crashed"}),
    (f"Channel error on connection <0.1.0> ({OF}, vhost: '/', user: 'o'mary'), channel 1:\noperation queue.declare "
     f"caused a channel exception not_found: failed to perform operation on {Q} due to timeout", "operation_timed_out",
     QUEUE | {"reason": "due to timeout"}),
    (f"Channel error on connection <0.1.0> ({OF}, vhost: '/', user: 'o'mary'), channel 1:\noperation none caused a "
     "channel exception precondition_failed: consumer ack timed out on channel 1", "consumer_timed_out", {}),
    (f"Channel error on connection <0.1.0> ({OF}, vhost: '/', user: 'o'mary'), channel 1:\noperation none caused a "
     "channel exception precondition_failed: delivery acknowledgement on channel 1 timed out. Timeout value used: 9 ms",
     "consumer_timed_out", {}),
    ("Error in process <0.1.0> on node 'rabbit@b' with exit value:\n{badarg,[]}", "process_crashed", {}),
    ("emulator Error in process <0.1.0> on node 'rabbit@b' with exit value:\n{badarg,[]}", "process_crashed", {}),
    ("Supervisor {<0.1.0>,rabbit_channel_sup_sup} had child channel_sup started with x:y() at undefined exit with "
     "reason shutdown in context shutdown_error", "noted", {"name": "{<0.1.0>,rabbit_channel_sup_sup}"}),
    ("Supervisor {<0.1.0>,ra_server_sup} had child '%2F_q' started with x:y() at <0.2.0> exit with reason badarg in "
     "context child_terminated", "child_ended", {"name": "{<0.1.0>,ra_server_sup}", "reason": "badarg"}),
    ("Supervisor: {<0.1.0>,rabbit_channel_sup_sup}\n     Context:    shutdown_error\n     Reason:     shutdown",
     "noted", {"name": "{<0.1.0>,rabbit_channel_sup_sup}"}),
    ("Supervisor: {local,rabbit_sup}\n     Context:    child_terminated\n     Reason:     badarg\n", "child_ended",
     {"name": "{local,rabbit_sup}", "reason": "badarg"}),
    ("supervisor: {<0.1.0>,rabbit_channel_sup_sup}\n    errorContext: shutdown_error\n    reason: noproc", "noted",
     {"name": "{<0.1.0>,rabbit_channel_sup_sup}"}),
    ("supervisor: {local,osiris_server_sup}\n    errorContext: child_terminated\n    reason: replica_reader_exit\n",
     "child_ended", {"name": "{local,osiris_server_sup}", "reason": "replica_reader_exit"}),
    ("Discarding message {x} from <0.1.0> to <0.2.0> in an old incarnation (1) of this node (2)", "noted", {}),
    ("Failed to create a tracked connection table for node 'rabbit@b': {x}", "noted", {}),
    ("emulator Discarding message {x} from <0.1.0> to <0.2.0> in an old incarnation (1) of this node (2)", "noted", {}),
    ("Failed to create a per-vhost tracked connection table for node 'rabbit@b': {x}", "noted", {}),
    ("Failed to create a per-user tracked connection table for node 'rabbit@b': {x}", "noted", {}),
    ("Suspended all listeners and will no longer accept client connections", "noted", {}),
    ("Resumed all listeners and will accept client connections again", "noted", {}),
    ("This node is being revived from maintenance (drain) mode", "noted", {}),
    ("Deprecated features: `x`: Feature `x` is deprecated.", "noted", {}),
    ("Timed out getting channel <0.1.0> info", "noted", {}),
    ("Feature flags: the following deprecated features can't be denied because their associated "
     "feature is being actively used: [classic_queue_mirroring]", "boot_error",
     {'name': 'classic_queue_mirroring', 'reason': 'failed_to_deny_deprecated_features'}),
    ("Deprecated features: `classic_queue_mirroring`: can't deny deprecated feature because it is "
     "actively used", "boot_error",
     {'name': 'classic_queue_mirroring', 'reason': 'failed_to_deny_deprecated_features'}),
    ("This RabbitMQ version cannot run on Erlang 25 (erts 13.2): minimum required version is 26.2 "
     "(erts 14.2)", "boot_error", {'reason': 'erlang_version_too_old'}),
    ("Node has already been initialized, but database appears empty. This could indicate data loss "
     "or a split-brain scenario.", "boot_error", {'reason': 'cluster_already_initialized_but_tables_empty'}),
    ("Cluster upgrade needed but other disc nodes shut down after this one.\nPlease first start the "
     "last", "boot_failed", {'reason': 'Cluster upgrade needed but'}),
    ('Failed to start Ra system "quorum_queues": {shutdown,x}', "boot_error",
     {'name': 'quorum_queues', 'reason': '{shutdown,x}'}),
    ("Could not read definitions from file at '/etc/rabbitmq/d.json', error: enoent", "boot_error",
     {'reason': 'could_not_read_defs'}),
    ("Requested definitions from remote URL 'https://d.example', error: x", "boot_error",
     {'reason': 'could_not_read_defs'}),
    ('Mnesia(\'rabbit@a.example\'): ** ERROR ** (core dumped to file: "/var/x")\n ** FATAL ** Failed '
     'to merge schema: Bad cookie', "boot_error",
     {'self': 'rabbit@a.example', 'reason': 'schema_integrity_check_failed'}),
    ('Mnesia(\'rabbit@a.example\'): ** ERROR ** (core dumped to file: "/var/x")\n ** FATAL ** Cannot '
     'dump', "application_ended", {'self': 'rabbit@a.example', 'reason': 'Cannot dump', 'name': 'mnesia'}),
    ("Feature flags: failed to write the `feature_flags` file at `/var/x`: no space left on device", "boot_error",
     {'reason': 'no space left on device'}),
    ('Peer discovery returned an error: "x". Will retry after a delay of 500 ms, 9 retries left...', "discovery_failed",
     {'reason': '"x"'}),
    ("Trying to join discovered peers failed. Will retry after a delay of 500 ms, 9 retries left...",
     "discovery_failed",
     {}),
    ("Peer discovery: failed to query the list of nodes from the backend: {error,x}", "discovery_failed",
     {'reason': '{error,x}'}),
    ("Peer discovery: failed to register with peer discovery backend rabbit_peer_discovery_consul: "
     "{error,x}", "discovery_failed", {'reason': '{error,x}'}),
    ("Peer discovery: failed to start temporary hidden node to query discovered peers' properties", "discovery_failed",
     {}),
    ("Peer discovery: backend initialisation failed: {error,x}", "discovery_failed", {'reason': '{error,x}'}),
    ("Failed to register with peer discovery backend rabbit_peer_discovery_consul: {error,x}", "discovery_failed",
     {'reason': '{error,x}'}),
    (f"Error on AMQP connection <0.1.0> ({OF}, user: 'o'mary', state: opening):\nINTERNAL_ERROR - "
     "access to vhost 'v1' refused for user 'o'mary': vhost 'v1' is down", "vhost_down", {'vhost': 'v1'}),
    (f"Error on AMQP connection <0.1.0> ({OF}, vhost: 'none', user: 'o'mary', state: opening), "
     "channel 0:\n x access to vhost 'v1' refused for user 'o'mary': vhost 'v1' is down", "vhost_down",
     {'vhost': 'v1'}),
    (f"Error on AMQP connection <0.1.0> ({OF}, vhost: 'v'1', user: 'o'mary', state: running), channel "
     "1:\n operation queue.declare caused a connection exception internal_error: \"Feature `x` is "
     "deprecated.\"", "connection_failed",
     {'connection': '10.0.0.9:4711 -> 10.0.0.1:5672 - till',
      'vhost': "v'1",
      'user': "o'mary",
      'reason': 'deprecated feature'}),
    (f"Error on AMQP connection <0.1.0> ({OF}, vhost: 'v'1', user: 'o'mary', state: running), channel "
     "1:\n operation basic.get caused a connection exception internal_error: \"Cannot get a message "
     "from queue 'q' in vhost 'v1': noproc\"", "operation_failed",
     {'reason': '"Cannot get a message from queue \'q\' in vhost \'v1\': noproc"'}),
    ('eheap_alloc: Cannot allocate 1234 bytes of memory (of type "heap").', "erlang_ended",
     {'reason': 'out of memory'}),
    ("Kernel pid terminated (application_controller) ({application_start_failure,rabbit,x})", "erlang_ended",
     {'reason': '{application_start_failure,rabbit,x})'}),
    ('{"Kernel pid terminated",application_controller,"{application_start_failure,rabbit,x}"}', "erlang_ended",
     {'reason': '"{application_start_failure,rabbit,x}"}'}),
    ("init terminating in do_boot ({error,x})", "erlang_ended", {'reason': '{error,x})'}),
    ('{"init terminating in do_boot",{error,x}}', "erlang_ended", {'reason': '{error,x}}'}),
    ("Runtime terminating during boot ({error,x})", "erlang_ended", {'reason': '{error,x})'}),
    ("Crash dump is being written to: /var/log/rabbitmq/erl_crash.dump...done", "erlang_ended", {}),
    ("Feature flags: failed to enable `khepri_db`: {error,x}", "flag_not_enabled",
     {'name': 'khepri_db', 'reason': '{error,x}'}),
    ("Feature flags: refuse to enable feature flags while clustered nodes are missing, stopped or "
     f"unreachable: ['{B}']", "flag_not_enabled", {'nodes': ('rabbit@b.example',)}),
    ("Feature flags: `khepri_db`: unsupported; aborting", "flag_not_enabled",
     {'name': 'khepri_db', 'reason': 'unsupported'}),
    ("Feature flag `quorum_queue`: migration function crashed: x", "flag_not_enabled",
     {'name': 'quorum_queue', 'reason': 'x'}),
    ("Queue <0.1.0> failed to initialise: x", "process_crashed",
     {'reason': 'x', 'name': 'rabbit_amqqueue_process:init/1'}),
    ("Unable to initialize vhost data store for vhost 'v1'. The vhost will be stopped for this node. "
     " Reason: {shutdown,x}", "vhost_failed", {'vhost': 'v1', 'reason': '{shutdown,x}'}),
    ("Unable to initialize vhost data store for vhost 'v1'. Reason: x", "vhost_failed",
     {'vhost': 'v1', 'reason': 'x'}),
    ("Virtual host 'v1' is gone. Stopping its top level supervisor.", "noted", {}),
    ("Error on AMQP connection <0.1.0>: enotconn (socket is not connected)", "connection_failed",
     {'reason': 'enotconn (socket is not connected)'}),
    ("Error on AMQP connection <0.1.0>:\n{ssl_upgrade_error,x}", "connection_failed",
     {'reason': '{ssl_upgrade_error,x}'}),
    (f"closing AMQP connection {OF} (duration: '1ms'):\nHTTP GET request detected on AMQP port.", "connection_failed",
     {'connection': '10.0.0.9:4711 -> 10.0.0.1:5672 - till', 'reason': 'HTTP GET request detected on AMQP port'}),
    (f"closing AMQP 1.0 connection ({OF}, duration: '1ms'): RabbitMQ requires SASL security layer", "connection_failed",
     {'connection': '10.0.0.9:4711 -> 10.0.0.1:5672 - till',
      'reason': 'RabbitMQ requires SASL security layer'}),
    ("Error on Direct connection <0.1.0>\naccess to vhost 'v1' refused for user 'm': vhost "
     "connection limit (1) is reached", "connection_failed",
     {'connection': '<0.1.0>',
      'reason': "to vhost 'v1' refused for user 'm': vhost connection limit (1) is reached"}),
)  # fmt: skip
"""(the message, the kind of event, its fields)."""
MESSAGES = (*OF_THE_MODEL, *OF_FAULTS)
"""All messages that rules are tested with."""
