"""Faults in logs: the answer names the worst one, and unknown errors prevent a yes."""

from __future__ import annotations

import json

import pytest

from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.understanding import Incident, understand
from hawb.scenario import verbs
from hawb.views.incident.incident_report import account, report_of
from hawb.views.incident.names import Names
from hawb.views.incident.reasons import boot_why
from hawb.views.terminal import text
from hawb.views.verdicts.incident import todo, verdict

STARTS = "2026-04-22 09:00:10.000000+00:00 [info] <0.222.0>  Starting RabbitMQ 4.2.0 on Erlang 27.3 [jit]\n"
RUNS = "2026-04-22 09:00:15.000000+00:00 [info] <0.222.0> Server startup complete; 4 plugins started.\n"
STARTS_3_8 = "2026-04-22 09:00:10.000 [info] <0.222.0>  Starting RabbitMQ 3.8.9 on Erlang 23.2\n"
CHANNEL = "Channel error on connection <0.2.0> (10.0.0.9:4711 -> 10.0.0.1:5672, vhost: '/', user: 'mary'), channel 2:"


def severe(*lines: str, level: str = "error", second: int = 11) -> str:
    """Return the lines of one message since 3.9."""
    return "".join(f"2026-04-22 09:05:{second}.100000+00:00 [{level}] <0.255.0> {line}\n" for line in lines)


def failed(*lines: str) -> str:
    """Return a failed boot with these lines as its reason."""
    return severe("", "BOOT FAILED", "===========", *lines, "")


def each(*lines: str) -> str:
    """Return lines that 3.8 logs separately."""
    return "".join(f"2026-04-22 09:05:11.100 [error] <0.255.0> {line}\n" for line in lines)


FAILED_BOOTS = {
    "no leader of the metadata store": (
        STARTS + failed("Error during startup: {error,timeout_waiting_for_leader}"), "timeout_waiting_for_leader"),
    "no leader, as an exception": (
        STARTS + failed("Exception during startup:", "", "exit:timeout_waiting_for_leader", "", "    rabbit:start/2"),
        "timeout_waiting_for_leader"),
    "a feature flag that is not enabled": (
        severe("Feature flags: `stream_queue`: required feature flag not enabled! It must be enabled before upgrading"
               " RabbitMQ.")
        + severe("Failed to initialize feature flags registry: {disabled_required_feature_flag,",
                 "                                              stream_queue}")
        + failed("Error during startup: {error,failed_to_initialize_feature_flags_registry}")
        + severe("  crasher:", "    initial call: application_master:init/4",
                 "    exception exit: {failed_to_initialize_feature_flags_registry,{rabbit,start,[normal,[]]}}"),
        "the feature flag stream_queue is not enabled, or not known to all nodes (disabled_required_feature_flag)"),
    "feature flags that differ": (
        STARTS_3_8 + each("Feature flags: node `rabbit@b` is INCOMPATIBLE: feature flags enabled remotely are not"
                          " supported locally", "", "BOOT FAILED", "===========",
                          "Error during startup: {error,incompatible_feature_flags}"),
        "its feature flags and those of rabbit@b are not compatible (incompatible_feature_flags)"),
    "another cluster, line by line": (
        STARTS_3_8 + each("BOOT FAILED", "===========", "Error during startup: {error,", "    {inconsistent_cluster,",
                          "    \"Node 'rabbit@n1' thinks it's clustered with node 'rabbit@b', but it disagrees\"}}"),
        "inconsistent_cluster"),
    "another cluster, of 3.7": (
        "2019-11-22 09:47:27.184 [error] <0.21818.0> \nError description:\n    rabbit_mnesia:init_with_lock/3"
        " line 671\nthrow:{error,{inconsistent_cluster,\"Node rabbit@n1 thinks it's clustered\"}}\n",
        "inconsistent_cluster"),
    "tables of others": (
        STARTS + failed("Timeout contacting cluster nodes: ['rabbit@b'].", "", "BACKGROUND", "=========="),
        "it waited without success for the tables of b (Timeout contacting cluster nodes)"),
    "tables of others, of 3.7": (
        "2026-04-22 09:05:11.100 [error] <0.5.0> Error description:\n   {could_not_start,rabbit,\n"
        "     {{timeout_waiting_for_tables,[rabbit_durable_queue]},{rabbit,start,[normal,[]]}}}\n",
        "timeout_waiting_for_tables"),
    "a schema that does not fit, of 3.6": (
        "=INFO REPORT==== 22-Apr-2026::09:05:11 ===\nError description:\n   {could_not_start,rabbit,\n"
        "       {{schema_integrity_check_failed,\n            [{table_attributes_mismatch,rabbit_user,[],[]}]},x}}\n",
        "schema_integrity_check_failed"),
    "a port that is in use": (
        STARTS + severe("Failed to start Ranch listener {acceptor,{0,0,0,0,0,0,0,0},5672} in ranch_tcp:listen([{port,"
                        "5672}]) for reason eaddrinuse (address already in use)")
        + failed("Error during startup: {error,", "    {could_not_start_listener,\"::\",5672,",
                 "      {{shutdown,{failed_to_start_child,x}},eaddrinuse}}}"),
        "a port (5672), or its name, is already in use (eaddrinuse)"),
    "Erlang's port that is in use": (
        severe("", "BOOT FAILED", "===========",
               "ERROR: could not bind to distribution port 25672, it is in use by another node: rabbit@b"),
        "could not bind to distribution port"),
    "a cookie that others may read": (
        severe("  crasher:", "    initial call: auth:init/1",
               '    exception exit: {"Cookie file /var/lib/rabbitmq/.erlang.cookie must be accessible by owner only",'),
        "the file of its Erlang cookie cannot be used (must be accessible by owner only)"),
    "a full disk": (
        STARTS + failed("Error during startup: {error,", '    {could_not_write_file,"/var/x",enospc}}'), "(enospc)"),
    "a file that may not be read": (
        STARTS + failed("Error during startup: {error,", '    {cannot_create_mnesia_dir,"/var/lib/x",eacces}}'),
        "(eacces)"),
    "a host without a name": (
        failed("ERROR: epmd error for host b: nxdomain (non-existing domain)"), "(epmd error)"),
    "settings, from a container that prints the end twice": (
        "n1  | " + severe("Error preparing configuration in phase validation:")
        + "n1  |\nn1  | BOOT FAILED\nn1  | ===========\n"
          "n1  | Error during startup: {error,failed_to_prepare_configuration}\n"
        + "".join(f"n1  | {line}\n" for line in failed("Error during startup: {error,failed_to_prepare_configuration}")
                  .splitlines()),
        "(failed_to_prepare_configuration)"),
    "a deprecated feature that is in use": (
        STARTS + severe("Feature flags: the following deprecated features can't be denied because their associated"
                        " feature is being actively used: [classic_queue_mirroring]")
        + failed("Error during startup: {error,", "    {failed_to_deny_deprecated_features,",
                 "        [classic_queue_mirroring]}}"),
        "the cluster uses the deprecated feature classic_queue_mirroring, which RabbitMQ no longer permits here"),
    "another release": (
        STARTS + failed('Error during startup: {error,', '    {inconsistent_cluster,"OTP version mismatch: local node'
                        ' is 26, remote node 25"}}'), "its release, or its Erlang version, is not compatible"),
    "a database that is empty": (
        STARTS + severe("Node has already been initialized, but database appears empty. This could indicate data loss"
                        " or a split-brain scenario.")
        + failed("Error during startup: {error,cluster_already_initialized_but_tables_empty}"),
        "it belonged to a cluster before, and its database is empty"),
    "an upgrade that begins with the wrong node": (
        STARTS_3_8 + each("Cluster upgrade needed but other disc nodes shut down after this one.\nPlease first start"
                          " the last disc node to shut down."), "the upgrade of its cluster has to begin with another"),
    "an Erlang that is too old": (
        severe("This RabbitMQ version cannot run on Erlang 25 (erts 13.2): minimum required version is 26.2")
        + failed('Error during startup: {error,', '    {erlang_version_too_old,"Erlang 26.2 or later is required"}}'),
        "its Erlang is too old"),
    "a port that only root may use": (
        STARTS + severe('Failed to start TCP listener [::]:80, error: eacces')
        + failed('Error during startup: {error,{could_not_start_listener,"::",80,eacces}}'),
        "a listener (80) could not be started"),
    "an address of another host": (
        STARTS + severe('Failed to start TCP listener [10.0.0.7]:5672, error: eaddrnotavail')
        + failed('Error during startup: {error,{could_not_start_listener,"10.0.0.7",5672,eaddrnotavail}}'),
        "it was to listen (5672) on an address that its host does not have (eaddrnotavail)"),
    "definitions that are not there": (
        STARTS + severe("Could not read definitions from file at '/etc/rabbitmq/d.json', error: enoent")
        + failed('Error during startup: {error,', '    {could_not_read_defs,{"/etc/rabbitmq/d.json",enoent}}}'),
        "the definitions that it imports when it boots cannot be imported (could_not_read_defs)"),
    "a plugin": (
        STARTS + failed('Error during startup: {error,', '    {missing_dependencies,[amqp_client],[x]}}'),
        "a plugin cannot be loaded (missing_dependencies)"),
    "a log that may not be written": (
        failed("failed to open log file at '/var/log/rabbitmq/x.log', reason: permission denied"),
        "it may not read or write a file (permission denied)"),
    "too many files": (
        STARTS + failed('Error during startup: {error,{"/var/lib/rabbitmq/x",emfile}}'), "it may not open more files"),
    "a port that is none": (
        failed("Invalid Erlang distribution TCP port: 70000"), "its configuration is not valid"),
    "as JSON": (
        json.dumps({"time": "2026-04-22 09:05:11.100000+00:00", "level": "error", "pid": "<0.255.0>",
                    "msg": "\nBOOT FAILED\n===========\nError during startup: {error,timeout_waiting_for_leader}\n"}),
        "timeout_waiting_for_leader"),
    "an unknown reason": (STARTS + failed("Error during startup: {error,something_of_its_own}"), "n1 failed to boot"),
}  # fmt: skip


def incident_of(folder, **logs: str) -> Incident:
    for name, log in logs.items():
        (folder / f"rabbit@{name}.log").write_text(log, encoding="utf-8")
    return understand([folder], keepers=False)


def answer(found: Incident) -> tuple[str, str]:
    said = verdict(found, account(found).names)
    return said.answer, said.why


@pytest.mark.parametrize(("log", "why"), FAILED_BOOTS.values(), ids=FAILED_BOOTS)
def test_failed_boot_is_the_answer_with_its_reason(log, why, tmp_path):
    found = incident_of(tmp_path, n1=log)
    assert answer(found)[0] == "no" and answer(found)[1].startswith("n1 failed to boot") and why in answer(found)[1]
    assert account(found).picture.title.startswith("At 09:0" if "2026-04-22" in log or "Apr" in log else "At ")
    assert [life.ended_by for life in found.node_runs] == ["failed"]
    assert "node_started" not in {one.kind for one in found.cluster_events}
    assert "all 1 event went" not in text(report_of(account(found)))


def test_unknown_reason_names_the_line_to_read(tmp_path):
    found = incident_of(tmp_path, n1=FAILED_BOOTS["an unknown reason"][0])
    [first, *_] = todo(found, account(found).names)
    assert first.what == "Read the log from rabbit@n1.log:2 on: hawb does not know why rabbit@n1 did not boot."
    found = incident_of(tmp_path, n1=STARTS + severe("frobnicator lost its marbles"))
    [first, *_] = todo(found, account(found).names)
    assert first.what == "Read rabbit@n1.log:2 and the lines before and after: hawb does not know this error message."


def test_unknown_reason_of_several_lines_is_quoted(tmp_path):
    lines = ("Error during startup: {error,", "                          {timeout,", "      {rabbitmq_metadata,x}}}")
    assert answer(incident_of(tmp_path, n1=STARTS + failed(*lines)))[1].startswith("n1 failed to boot (timeout")


@pytest.mark.parametrize(
    ("reason", "result"),
    [("{<word>}", ""), ("exit:{aborted,{<word>,[rabbit_runtime_parameters,<word>]}}",
                        " (exit, aborted, rabbit_runtime_parameters)")],
)  # fmt: skip
def test_redacted_reason_is_not_quoted(reason: str, result: str):
    assert boot_why([ClusterEvent(kind="boot_failed", at_us=0, node="n1", reason=reason)], Names({}, {})) == result


def test_failed_boot_without_a_time_prevents_a_yes(tmp_path):
    said, why = answer(incident_of(tmp_path, n1="BOOT FAILED\n===========\nERROR: epmd error for host b: nxdomain\n"))
    assert said == "no" and "a boot failed" in why


def test_boot_error_alone_is_reported(tmp_path):
    error = "Feature flags: `x`: required feature flag not enabled! It must be enabled before upgrading RabbitMQ."
    found = incident_of(tmp_path, n1=severe(error))
    assert answer(found)[1].startswith("n1 logged a boot error: the feature flag x is not enabled")


STOPS = (
    "2026-04-22 09:00:00.000000+00:00 [info] <0.480.0> RabbitMQ is asked to stop...\n"
    "2026-04-22 09:00:03.000000+00:00 [info] <0.480.0> Successfully stopped RabbitMQ and its dependencies\n"
)


def test_node_whose_boot_failed_is_not_started_in_the_story(tmp_path):
    """It is down at the end, or up after a later successful boot."""
    log = STOPS + STARTS + failed("Error during startup: {error,timeout_waiting_for_leader}")
    found = incident_of(tmp_path, n1=log)
    assert [type(step.verb) for step in found.reconstructed.scenario.steps] == [verbs.Stop, verbs.Wait]
    assert found.outcome["nodes"]["rabbit@n1"] != "running"
    again = log + STARTS.replace("09:00:10", "09:06:00") + RUNS.replace("09:00:15", "09:06:05")
    found = incident_of(tmp_path, n1=again)
    assert [type(step.verb) for step in found.reconstructed.scenario.steps] == [verbs.Stop, verbs.Start, verbs.Wait]
    assert answer(found)[0] == "no"


def test_repeated_failed_boots_are_reported_once(tmp_path):
    log = "".join(STARTS.replace("09:00", f"09:0{minute}")
                  + failed("Error during startup: {error,timeout_waiting_for_leader}").replace("09:05", f"09:0{minute}")
                  for minute in range(1, 6))  # fmt: skip
    said = "n1 failed to boot 5 times: it waited without success for a leader"
    assert answer(incident_of(tmp_path, n1=log))[1].startswith(said)


ALONE = {
    "3.7": "Discovered no peer nodes to cluster with",
    "3.8": "Discovered no peer nodes to cluster with. Some discovery backends can filter nodes out based on a readiness"
    " criteria. Enabling debug logging might help troubleshoot.",
    "3.13": "Peer discovery: discovered no peer nodes to cluster with. Some discovery backends can filter nodes out",
    "4.2": "Peer discovery: could not discover and join another node; proceeding as a standalone node",
    "no contact": "Could not successfully contact any node of: rabbit@a,rabbit@b (as in Erlang distribution). Starting"
    " as a blank standalone node...",
}  # fmt: skip


@pytest.mark.parametrize("says", ALONE.values(), ids=ALONE)
def test_nodes_that_found_no_peers_formed_two_clusters(says, tmp_path):
    log = STARTS + severe(says, level="info") + RUNS.replace("09:00:15", "09:06:00")
    found = incident_of(tmp_path, a=log, b=log.replace("09:0", "09:1"))
    assert answer(found) == ("no", "a and b formed two clusters: each found no other node to join")
    [first, *_] = report_of(account(found)).todo
    assert "rabbitmqctl -n rabbit@b join_cluster rabbit@a" in first.commands


def test_node_that_joined_later_is_not_a_separate_cluster(tmp_path):
    log = STARTS + severe(ALONE["3.8"], level="info") + RUNS.replace("09:00:15", "09:06:00")
    joined = log + severe("Clustering with ['rabbit@a'] as disc node", level="info", second=50)
    for name, said in (("a", log), ("b", joined)):
        (tmp_path / f"rabbit@{name}.log").write_text(said.replace("09:05:50", "09:07:00"), encoding="utf-8")
    assert "clusters_apart" not in {one.kind for one in understand([tmp_path], keepers=False).cluster_events}
    assert "clusters_apart" not in {one.kind for one in incident_of(tmp_path, a=log, b=STARTS + RUNS).cluster_events}


FAULTS = {
    "a segment of Raft": (
        "2026-04-02 12:32:43.529 [error] <0.318.28> ** State machine '%2F_orders' terminating\n** Last event = x\n"
        "** Reason for termination = error:{case_clause,{'EXIT',ra_log_segment_crc_check_failure}}\n",
        "n1 found damaged data on its disk (orders) (ra_log_segment_crc_check_failure)"),
    "the end of a segment": (
        severe("** State machine '%2F_orders' terminating", "** Last event = {cast,", "     go}",
               "** Reason for termination = exit:{ra_log_segment_unexpected_eof,9733,", "     x}"),
        "n1 found damaged data on its disk (orders) (ra_log_segment_unexpected_eof)"),
    "the write-ahead log": (
        severe("WAL in quorum_queues: record failed CRC check during recovery. Unable to recover WAL data safely"),
        "n1 found damaged data on its disk (the write-ahead log of Raft)"),
    "a member of a quorum queue": (
        severe("** State machine '%2F_orders' terminating", "** Last event = x",
               "** Reason for termination = error:function_clause", "** Callback modules = [ra_server_proc]")
        + severe("  crasher:", "    initial call: ra_server_proc:init/1", "    registered_name: '%2F_orders'",
                 "    exception error: no function clause matching x", second=12),
        "n1: the process of orders crashed"),
    "a queue of another virtual host": (
        severe("** State machine 'shop_orders' terminating", "** Reason for termination = error:badarg",
               "** Callback modules = [ra_server_proc]"), "n1: the process of shop::orders crashed"),
    "a classic queue that is not restarted": (
        severe("** Generic server <0.255.0> terminating", "** Last message in was x", "** When Server state == {q,",
               '     {amqqueue,{resource,<<"/">>,queue,<<"orders">>},true}}', "** Reason for termination ==",
               "** badarg"), "n1: the process of orders crashed"),
    "the stream coordinator": (
        severe("** State machine rabbit_stream_coordinator terminating", "** Last event = x",
               "** Reason for termination = error:function_clause"), "n1: the stream coordinator failed"),
    "the stream coordinator does not answer": (
        severe("Coordinator timeout on server 'rabbit@n1' when processing command new_stream", level="warning"),
        "n1: the stream coordinator failed (timeout)"),
    "a replica of a stream": (
        severe("rabbit_stream_coordinator: Error while starting replica for __logs_1 on node rabbit@n1 in 3 :"
               " {error,x}", level="warning"), "n1: a replica of the stream __logs_1 failed"),
    "the supervisor of a stream's replica": (
        severe("    supervisor: {local,osiris_server_sup}", "    errorContext: child_terminated",
               "    reason: replica_reader_exit"), "n1: a replica of a stream failed"),
    "a consumer": (
        severe(CHANNEL, "operation none caused a channel exception precondition_failed: delivery acknowledgement on"
               " channel 2 timed out. Timeout value used: 1800000 ms."), "n1: consumers of a queue timed out"),
    "a consumer of a queue": (
        severe("Consumer 'c' on channel 2 and queue 'orders' in vhost '/' has timed out waiting for a consumer"
               " acknowledgement of a delivery", level="warning"), "n1: consumers of orders timed out"),
    "an operation": (
        severe(CHANNEL, "operation queue.declare caused a channel exception not_found: failed to perform operation on"
               " queue 'orders' in vhost '/' due to timeout"), "n1: 1 operation of clients timed out (due to timeout)"),
    "a queue whose node is down": (
        severe(CHANNEL, "operation basic.consume caused a channel exception not_found: home node 'rabbit@n2' of durable"
               " queue 'orders' in vhost '/' is down or inaccessible"),
        "n1: clients were refused orders: no process of it runs (its node is down)"),
    "an operation, as a term": (
        severe("Error on AMQP connection <0.2.0> (10.0.0.9:4711 -> 10.0.0.1:5672, vhost: '/', user: 'mary', state:"
               " running), channel 1:", " {{timeout,", "   {gen_server2,call,[<0.3.0>,x,15000]}},", "  []}"),
        "n1: 1 operation of clients timed out"),
    "an application": (
        severe("Application ra exited with reason: reached_max_restart_intensity", level="notice"),
        "n1: the application ra ended by itself"),
    "the backend of peer discovery": (
        severe("Peer discovery: failed to query the list of nodes from the backend: {error,nxdomain}"),
        "n1 could not use peer discovery"),
    "the backend of peer discovery, of 3.8": (
        severe('Peer discovery returned an error: {failed_connect,[x]}. Will retry after a delay of 500 ms, 9 retries'
               ' left...'), "n1 could not use peer discovery"),
    "Mnesia": (
        severe("Mnesia(rabbit@n1): ** ERROR ** (core dumped to file: \"/var/lib/rabbitmq/MnesiaCore.x\")",
               " ** FATAL ** Failed to merge schema: Bad cookie in table definition rabbit_user: x"),
        "n1 logged a boot error: the tables on its disk do not match"),
    "an error of Mnesia": (
        severe("Mnesia(rabbit@n1): ** ERROR ** (core dumped to file: \"/var/lib/rabbitmq/MnesiaCore.x\")",
               " ** FATAL ** Cannot open log file"), "n1: the application mnesia ended by itself"),
    "an operation that fails inside RabbitMQ": (
        severe("Error on AMQP connection <0.2.0> (10.0.0.9:4711 -> 10.0.0.1:5672, vhost: '/', user: 'mary', state:"
               " running), channel 1:", " operation basic.get caused a connection exception internal_error: \"Cannot"
               " get a message from queue 'q' in vhost '/': noproc\""),
        "n1: 1 operation of clients failed with an internal error"),
    "a virtual host that is down": (
        severe("Error on AMQP connection <0.2.0> (10.0.0.9:4711 -> 10.0.0.1:5672, user: 'mary', state: opening):",
               "INTERNAL_ERROR - access to vhost 'shop' refused for user 'mary': vhost 'shop' is down"),
        "n1: clients were refused the virtual host shop: it does not run there"),
    "a full disk while it runs": (
        severe("** Generic server ra_log_wal terminating", "** Last message in was x", "** When Server state == y",
               "** Reason for termination ==", "** {{badmatch,{error,enospc}},[{ra_log_wal,flush_pending,1,[]}]}"),
        "n1 could not write to its disk (enospc)"),
    "a full disk under a stream": (
        severe("rabbit_stream_coordinator: failed to start writer __s_1 on rabbit@n1 in 4 Error: {error,enospc}",
               level="warning"), "n1 could not write to its disk (enospc)"),
    "a queue that may not be deleted by force": (
        severe("Queue orders in vhost / is down. The queue may be non-empty. Refusing to force-delete."),
        "n1: clients were refused orders: no process of it runs"),
    "a feature flag": (
        severe("Feature flags: refuse to enable feature flags while clustered nodes are missing, stopped or"
               " unreachable: ['rabbit@n2']"), "n1 could not enable feature flags while n2 did not run"),
    "the only node of a cluster": (severe(ALONE["4.2"]), "n1 could not use peer discovery"),
    "the end of Erlang, without memory": (
        STARTS + RUNS + 'eheap_alloc: Cannot allocate 1234 bytes of memory (of type "heap").\n\nCrash dump is being'
        " written to: /var/log/rabbitmq/erl_crash.dump...done\n",
        "n1: the Erlang VM ended by itself (out of memory)"),
    "the end of Erlang, as it boots": (
        STARTS + "Kernel pid terminated (application_controller) ({application_start_failure,rabbit,"
        "{timeout_waiting_for_leader,x}})\n", "n1: the Erlang VM ended by itself: it waited without success"),
    "another cookie": (
        severe("** Connection attempt from node 'rabbit@b' rejected. Invalid challenge reply. **"),
        "n1 refused a connection of rabbit@b: their Erlang cookies differ"),
}  # fmt: skip


@pytest.mark.parametrize(("log", "why"), FAULTS.values(), ids=FAULTS)
def test_fault_is_the_answer(log, why, tmp_path):
    found = incident_of(tmp_path, n1=log)
    assert answer(found)[0] == "no" and answer(found)[1].startswith(why)
    assert why in account(found).picture.title
    assert "mary" not in text(report_of(account(found)))


def test_worst_fault_comes_first_and_others_are_counted(tmp_path):
    names = "a consumer of a queue", "an operation", "the end of a segment"
    consumer, operation, segment = (FAULTS[name][0] for name in names)
    said, why = answer(incident_of(tmp_path, n1=STARTS + RUNS + consumer + operation.replace("09:05", "09:06")
                            + segment.replace("09:05", "09:07")))  # fmt: skip
    assert (said, why) == ("no", "n1 found damaged data on its disk (orders) (ra_log_segment_unexpected_eof);"
                           " 2 other faults below")  # fmt: skip


def test_restarted_queue_is_not_a_separate_fault(tmp_path):
    crash = FAULTS["a classic queue that is not restarted"][0]
    restarted = severe("Restarting crashed queue 'orders' in vhost '/'.", second=12)
    assert "queue_crashed" not in {one.kind for one in incident_of(tmp_path, n1=crash + restarted).cluster_events}


def test_supervisors_ending_with_their_node_are_no_faults(tmp_path):
    log = STARTS + RUNS + severe("Application rabbit exited with reason: stopped", level="notice") + severe(
        "    supervisor: {<0.1.0>,rabbit_channel_sup_sup}", "    errorContext: shutdown_error", "    reason: noproc")
    assert answer(incident_of(tmp_path, n1=log))[0] == "yes"


ODD = severe("Something frobnicated the store of user 'alice' from 10.0.0.1:4711 badly")


@pytest.mark.parametrize("level", ["error", "critical", "erro"])
def test_unknown_error_is_shown_and_prevents_a_yes(level, tmp_path):
    found = incident_of(tmp_path, n1=STARTS + RUNS + ODD.replace("[error]", f"[{level}]"))
    assert answer(found) == (
        "unknown", "hawb does not know 1 message of level error or worse, that in rabbit@n1.log:3: Something"
        " frobnicated the store of user <text> from <n> badly")  # fmt: skip
    shown = text(report_of(account(found)))
    assert "Error messages that hawb does not know" in shown and "frobnicated" in shown
    assert "alice" not in shown and "10.0.0.1" not in shown and "No node failed" not in account(found).picture.title


def test_few_of_many_unknown_errors_are_shown_with_their_count(tmp_path):
    log = "".join(ODD.replace("09:05:11", f"09:{10 + minute}:11") for minute in range(45))
    found = incident_of(tmp_path, n1=STARTS + RUNS + log)
    assert found.reading.severe == 45 and len(found.reading.unread) == 20
    assert "45 messages in all." in text(report_of(account(found)))


def test_client_errors_and_known_noise_are_no_faults(tmp_path):
    log = severe("Error on AMQP connection <0.2.0> (10.0.0.9:4711 -> 10.0.0.1:5672, state: starting):",
                 "PLAIN login refused: user 'mary' - invalid credentials") + severe(
        CHANNEL, "operation basic.publish caused a channel exception not_found: no exchange 'x' in vhost '/'"
    )  # fmt: skip
    assert answer(incident_of(tmp_path, n1=STARTS + RUNS + log)) == (
        "yes", "no log shows a fault or a change")  # fmt: skip


def test_file_that_is_not_a_log_is_named_and_prevents_a_yes(tmp_path):
    (tmp_path / "access.log").write_text('10.0.0.9 - - [22/Apr/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 1\n')
    (tmp_path / "rabbit@n1_upgrade.log").write_text("")
    found = incident_of(tmp_path, n1=STARTS + RUNS)
    assert answer(found)[0] == "unknown" and "access.log is not a RabbitMQ log" in answer(found)[1]
    assert "_upgrade" not in text(report_of(account(found)))


ALARM = ("memory resource limit alarm set on node rabbit@n1.", "", "*** Publishers will be blocked until this alarm"
         " clears ***")  # fmt: skip
CLEARED = severe("memory resource limit alarm cleared on node rabbit@n1", level="warning", second=30)
WAITS = severe("Waiting for Khepri leader for 30000 ms, 5 retries left", level="info")
LASTING = {
    "an alarm": (STARTS + RUNS + severe(*ALARM, level="warning"),
                 "publishers have been blocked since 09:05:11: n1 is short of memory"),
    "an alarm of file descriptors": (
        STARTS_3_8 + "2026-04-22 09:00:15.000 [info] <0.222.0> Server startup complete; 4 plugins started.\n"
        + each("file descriptor limit alarm set.").replace("[error]", "[warning]"),
        "n1 has accepted no connections since 09:05:11: it is short of file descriptors"),
    "a partition": (
        STARTS + RUNS + severe("Mnesia(rabbit@n1): ** ERROR ** mnesia_event got {inconsistent_database,"
                               " running_partitioned_network, rabbit@n2}"),
        "n1 and n2 found at 09:05:11 that they had been partitioned"),
    "a boot that waits": (STARTS + WAITS, "n1 has not booted: it still waits for other nodes"),
}  # fmt: skip


@pytest.mark.parametrize(("log", "why"), LASTING.values(), ids=LASTING)
def test_fault_at_the_end_of_the_logs_prevents_a_yes(log, why, tmp_path):
    assert answer(incident_of(tmp_path, n1=log)) == ("no", why)


def test_node_down_without_a_log_prevents_a_yes(tmp_path):
    gone = severe("rabbit on node rabbit@n2 down", level="info")
    assert answer(incident_of(tmp_path, n1=STARTS + RUNS + gone)) == (
        "unknown", "n2 has been gone since 09:05:11, and its own log is missing")  # fmt: skip


def test_damaged_data_of_an_unknown_queue_has_valid_commands(tmp_path):
    found = incident_of(tmp_path, n1=FAULTS["the write-ahead log"][0])
    [first, *_] = todo(found, account(found).names)
    assert first.commands == ("rabbitmqctl -n rabbit@n1 list_queues name type state",)
    assert "the write-ahead log of Raft there is damaged" in first.what


def test_damaged_classic_store_has_no_advice_about_members(tmp_path):
    error = "Per-queue store CRC32 check failed in /var/lib/x/1.qs seq id 1 offset 2 size 3"
    found = incident_of(tmp_path, n1=severe(error))
    assert "no other copy of what a classic queue cannot read" in todo(found, account(found).names)[0].what


def test_node_that_ran_out_of_disk_is_advised_more_disk(tmp_path):
    found = incident_of(tmp_path, n1=STARTS + "init terminating in do_boot ({error,{badmatch,{error,enospc}}})\n")
    assert todo(found, account(found).names)[0].commands == ("df -h",)


def test_partition_at_the_end_of_the_logs_prevents_a_yes(tmp_path):
    """Too short for the nodes of a story to notice it, and without queues that could lose messages."""
    gone = "".join(severe(f"{what} node rabbit@n2 down{why}", level="info")
                   for what, why in (("rabbit on", ""), ("", ": net_tick_timeout")))  # fmt: skip
    logs = {"n1": STARTS + RUNS + gone.replace("  node", " node"), "n2": (STARTS + RUNS + gone).replace("@n2", "@n1")}
    assert answer(incident_of(tmp_path, **logs)) == ("no", "n1 and n2 have not seen each other since 09:05:11")


def test_node_that_stays_paused_prevents_a_yes(tmp_path):
    paused = STARTS + RUNS + severe("node rabbit@n2 down: net_tick_timeout", level="info") + severe(
        "Cluster minority/secondary status detected - awaiting recovery", level="warning", second=12) + severe(
        "RabbitMQ is asked to stop...", level="info", second=12)  # fmt: skip
    said, why = answer(incident_of(tmp_path, n1=paused))
    assert said == "no" and "n1 has been paused since 09:05:12" in why


def test_deleted_virtual_host_is_no_fault(tmp_path):
    gone = severe("Virtual host 'shop' is gone. Stopping its top level supervisor.", level="warning")
    assert answer(incident_of(tmp_path, n1=STARTS + RUNS + gone))[0] == "yes"


def test_cleared_alarm_and_finished_boot_are_no_faults(tmp_path):
    found = incident_of(tmp_path, n1=STARTS + WAITS.replace("09:05:11", "09:00:11") + RUNS + LASTING["an alarm"][0]
                 .removeprefix(STARTS + RUNS) + CLEARED)  # fmt: skip
    assert answer(found)[0] == "yes"
