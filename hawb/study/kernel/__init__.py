"""One trial, compiled: a cluster of whole numbers that a history happens to.

The kernel plays what the engine plays, event by event: the same events at the same microseconds in the same order, with
the same counter behind the same draws, for one queue, without a trace. What RabbitMQ decides it asks of the functions
of `hawb.rules`, compiled. What it leaves out, `setup.refused` refuses by name; the few trials in which only what
happens shows that the kernel cannot follow, or that a table is too small, it hands over (`state.hand_to_engine`). That
both do the same is what `tests/study/test_kernel_agreement.py`, `tests/study/test_kernel_partitions.py` and
`tests/study/test_kernel_quorum.py` hold.

Messages are counted by those that the queue has taken, refused ones left out. So a queue's content is a few windows,
and a mirror's what of it was taken after the mirror came (`since`).

- `state`: what a trial is made of, and the agenda
- `windows`: sets of messages
- `answers`: what publishers are told
- `deliveries`: what consumers get and answer
- `publishing`: what publishers send
- `flows`: what flows between two events
- `record_rules`, `record_ports`, `replicas`, `mirror_ports`, `failover_ports`, `copies`, `silence`: the queue's
  replicas, which are `hawb.engine.classic` compiled with ports of their own
- `node_rules`, `node_ports`: what nodes do about each other, which is `reachability`, `metadata` and
  `partition_handling` of `hawb.engine.cluster` compiled with ports of its own (`hawb.study.compiled.Binding`)
- `going_down`, `departure`: nodes that go, and what goes with them, which is `hawb.engine.cluster.stopping`
  compiled
- `boot_order`, `arrival`: nodes that come up, and what they find, which is `hawb.engine.cluster.booting`
  compiled
- `disks`: nodes that come back as others
- `upkeep`: clients that come back, nodes that are started, planned work
- `trial`: one trial from its beginning to its horizon

The same in a network whose links may fail, so far as it is otherwise, compiled from the same code with other parts
(`hawb.study.compiled.with_parts`), so that what has no partitions is as fast as if there were none.

- `partitioned_state`: what a trial is made of, and whose records are in focus
- `network_rules`, `network_ports`: links that break, and how one side becomes several and several one, which is
  `links` and `partitions` of `hawb.engine.cluster` compiled
- `books`: what each side has of the messages
- `links`: what lags behind links that drop everything, and what is on its way over them
- `partitioned_nodes`: nodes on each side, and what a person does about them
- `partitioned_trial`: what of a trial is otherwise, and which parts stand in which places

The same for a quorum queue, message by message of its Raft group, so far as it is otherwise. What it shares with a
classic queue's trial is compiled from the same code with other parts, too, so that a study of the one does not wait
until the other is compiled.

- `quorum_state`: what a trial is made of
- `raft`, `raft_ports`, `raft_log`: what members make of what they hear, which is `hawb.raft` compiled with ports of its
  own (`hawb.study.compiled.Binding`)
- `hosting`, `host_ports`: what carries their messages, writes their logs and calls elections, and what is committed
  without time passing, which is `hawb.engine.raft_groups` compiled
- `asking`, `enqueuers`: what clients ask until a leader has it, which is `hawb.engine.raft_groups` compiled
- `quorum_group`, `quorum_log`: what waits and what is in logs, where logs are cut
- `quorum`: what clients ask, and what comes of it once it is committed
- `fifo`: the queue's messages and its consumer
- `channels`: what publishers are told
- `metadata_store`: Khepri, a second Raft group
- `quorum_nodes`, `quorum_flows`, `quorum_trial`: what of a trial is otherwise than with a classic queue

The same while stories are searched (`hawb.planning.explore`), of a classic queue without consumers, so far as more is
to be told apart than in a trial.

- `search_state`: what a cluster is made of
- `search_copies`, `search_record`, `search_queue`, `search_books`, `search_nodes`: what replicas hold and could be
  recovered, what becomes of messages, and what nodes remember
- `search_names`, `search_sets`, `search_key`: the name of a state up to what cannot matter
- `search_moves`, `search`: the steps there are, what each leads to, and which parts stand in which places

The same of a quorum queue without consumers, with parts of a search, of a trial of a quorum queue, and of one in a
network whose links may fail.

- `quorum_search_state`: what a cluster is made of
- `quorum_search_ports`: what members, channels and nodes need where links are cut, nodes silent and disks lost
- `quorum_search_sets`, `quorum_search_key`: the name of a state up to what cannot matter
- `quorum_search`: what happens, and which parts stand in which places

- `setup`: design and environment as whole numbers
- `block`: many trials, one after another
"""
