"""One trial, compiled: a cluster of whole numbers and a history of failures and operations.

The kernel plays what the engine plays, event by event: the same events at the same microseconds in the same order, with
the same counter behind the same draws, for one queue, without a trace. It compiles RabbitMQ's decisions from
`hawb.rules`. `setup.refused` refuses by name what it leaves out. A trial in which only the course of events shows that
the kernel cannot follow, or that a table is too small, falls back to the engine (`state.hand_to_engine`).
`test_kernel_agreement.py`, `test_kernel_partitions.py`, `test_kernel_khepri.py`, `test_kernel_many_clients.py` and
`test_kernel_quorum.py` of `tests/study` check that both do the same.

Messages are numbered by those that the queue has taken, without refused ones. So a queue's content is a few windows,
and a mirror's is the part of it taken after the mirror joined (`since`).

- `state`: the record of a trial, and the agenda
- `windows`: sets of messages
- `answers`: publishers' confirms
- `deliveries`: the consumer's deliveries and answers
- `publishing`: publishes
- `flows`: flows between two events
- `record_rules`, `record_ports`, `replicas`, `mirror_ports`, `failover_ports`, `copies`, `silence`: the queue's
  replicas, which are `hawb.engine.classic` compiled with ports of their own
- `node_rules`, `node_ports`: nodes' reactions to each other, which are `reachability`, `metadata` and
  `partition_handling` of `hawb.engine.cluster` compiled with ports of their own (`hawb.study.compiled.Binding`)
- `going_down`, `departure`: nodes that stop, and what ends with them, which is `hawb.engine.cluster.stopping`
  compiled
- `boot_order`, `arrival`: nodes that boot, and what they find, which is `hawb.engine.cluster.booting`
  compiled
- `disks`: nodes that lose their disks and join again
- `upkeep`: clients that reconnect, nodes that are started, planned work
- `trial`: one trial from its beginning to its horizon

For a network whose links may fail, the same code is compiled with other parts (`hawb.study.compiled.with_parts`), so
that trials without partitions are as fast as if there were none.

- `partitioned_state`: the record of a trial, and the current side
- `network_rules`, `network_ports`: links that fail, and how one side becomes several and several one, which is
  `links` and `partitions` of `hawb.engine.cluster` compiled
- `books`: each side's messages
- `links`: what lags behind cut links, and deliveries under way over them
- `partitioned_nodes`: nodes on each side, and an operator's actions on them
- `partitioned_trial`: the parts of a trial that differ, and what they replace

For clients on every node, other parts are put in the place of these, in a network whose links may fail or not.

- `many_clients_state`: the record of a trial, and the current consumer
- `many_clients_deliveries`, `many_clients_flows`: messages dealt among consumers (`hawb.engine.clients.dealing`), and
  their flows
- `many_clients_trial`: the parts of a trial that differ, and what they replace

For a quorum queue, message by message of its Raft group, the same holds. What it shares with a classic queue's trial is
compiled from the same code with other parts, too, so that a study of the one does not wait until the other is compiled.

- `quorum_state`: the record of a trial
- `raft`, `raft_ports`, `raft_log`: members' handling of messages, which is `hawb.raft` compiled with ports of its
  own (`hawb.study.compiled.Binding`)
- `hosting`, `host_ports`: delivery of members' messages, writes of their logs, elections, and commits without time
  passing, which is `hawb.engine.raft_groups` compiled
- `asking`, `enqueuers`: clients' proposals until a leader has them, which is `hawb.engine.raft_groups` compiled
- `quorum_group`, `quorum_log`: waiting proposals and entries in logs, and where logs are cut
- `quorum`: clients' proposals, and their execution once they are committed
- `fifo`: the queue's messages and its consumer
- `channels`: publishers' confirms
- `metadata_store`: Khepri, a second Raft group
- `quorum_disks`: nodes that lose their disks, join again and get members again
- `quorum_nodes`, `quorum_flows`, `quorum_trial`: the parts of a trial that differ from a classic queue's
- `out_of_reach`: what a cut link holds up, of which there is nothing

For a classic queue in a cluster with Khepri, parts are those of a trial without a metadata store, and of the group of a
quorum queue's trial.

- `khepri_state`: the record of a trial, with the metadata store's group
- `khepri_trial`: the parts of a trial that differ
- `partitioned_khepri_trial`: the same, and how sides join again, in a network whose links may fail

For a quorum queue in a network whose links may fail, parts are those of a trial of a quorum queue, and of one in such a
network.

- `partitioned_quorum_state`: the record of a trial
- `quorum_links`: members that do not reach each other, and what each side sees of a group; searches use it too
- `partitioned_quorum`: proposals, clients and deliveries behind cut links
- `partitioned_quorum_trial`: the parts of a trial that differ

For a search of stories (`hawb.planning.explore`), of a classic queue without consumers, the same holds, as far as a
search distinguishes more than a trial.

- `search_state`: the record of a cluster
- `search_copies`, `search_record`, `search_queue`, `search_books`, `search_nodes`: replicas' copies and recoverable
  mirrors, the fate of messages, and what nodes remember
- `search_names`, `search_sets`, `search_key`: the key of a state
- `search_moves`, `search`: the possible steps, the result of each, and the parts that differ

For a search of a classic queue beside Khepri, parts are those of a search, of a trial of such a queue, and of a search
with a quorum queue (`khepri_search`).

For a search with a quorum queue without consumers, beside Khepri in 4.3, parts are those of a search, of a trial of a
quorum queue, and of one in a network whose links may fail.

- `quorum_search_state`: the record of a cluster
- `quorum_search_ports`, `quorum_search_channels`, `quorum_search_nodes`: ports of members, channels and nodes where
  links are cut, nodes silent and disks lost
- `quorum_search_sets`, `quorum_search_key`: the key of a state
- `quorum_search`: events, and the parts that differ

- `setup`: design and environment as whole numbers
- `block`: many trials, one after another
"""
