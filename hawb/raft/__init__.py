"""Raft as Ra does it (rabbitmq/ra, `ra_server`): the consensus protocol alone, written once for whoever runs it.

No queue, no clock, no disk, no network and nothing random. The host carries messages (late, twice, in any order or
never), keeps the timers, writes to disk and runs the state machine; `messages` says what it gives and gets. When a
member should ask to be elected is the host's failure detector's business, apart from the protocol: RabbitMQ's is aten
with Ra's election timeouts, and net_ticktime has no part in it.

A transition changes the record of a member that it is given, and what else is to be done goes by way of a few `ports`:

    on_message(t, member, message)

The engine runs it as it stands (`hawb.engine.raft_groups`). Who wants to see what comes of an event has members as
values:

    member, outputs = step(member, event)

The kernel of studies compiles the same functions with other ports (`hawb.study.compiled.Binding`). So all that is
written here, but for what the kernel has no use for (`membership`, `step`), does with whole numbers, sets as bits, and
records that have attributes: no None, no string, no list.

- `ports`: all that is otherwise where it is compiled
- `member`: a member, and what it knows of others
- `messages`: messages, inputs and outputs
- `election`: pre-vote, vote, and what survives a restart
- `replication`: entries, snapshots, what is committed
- `server`: what a message does at a member
- `membership`: commands, members that come and go, handing over
- `log`: the log of a member, as runs of entries
- `step`: a member as a value
- `group`: a group drawn as text

Membership changes one member at a time and is in effect as soon as it is in the log (Ongaro's thesis, 4.1). The next
change waits until the last one and an entry of the leader's own term are committed (Ra's cluster_change_permitted; the
fault in the thesis that the latter mends: Ongaro on raft-dev, 2015). A follower goes by the configuration in its log at
once; Ra's, after a restart, only once it is committed.

What of Ra is left out: machine versions, consistent queries and their heartbeats, non-voting members, snapshots in
chunks. While a leader hands over it takes no commands but goes on committing, which Ra's puts off.
"""
