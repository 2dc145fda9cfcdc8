"""Raft as Ra does it (rabbitmq/ra, `ra_server`): the consensus protocol alone, shared by engine and kernel.

No queue, no clock, no disk, no network and nothing random. The host delivers messages (late, twice, in any order or
never), keeps the timers, writes to disk and runs the state machine; `messages` defines its inputs and outputs. When a
member should ask to be elected is decided by the host's failure detector, outside of the protocol: RabbitMQ's is aten
with Ra's election timeouts, and net_ticktime plays no part.

A transition changes the record of a member that it is given, and acts on its host through a few `ports`:

    on_message(t, member, message)

The engine runs it as it stands (`hawb.engine.raft_groups`). A caller that wants to see the result of an event uses
members as values:

    member, outputs = step(member, event)

The kernel of studies compiles the same functions with other ports (`hawb.study.compiled.Binding`). So all modules here,
except those that the kernel does not use (`membership`, `step`), use whole numbers, sets as bits, and records with
attributes: no None, no string, no list.

- `ports`: all that differs between engine and kernel
- `member`: a member, and its progress records of peers
- `messages`: messages, inputs and outputs
- `election`: pre-vote, vote, and what survives a restart
- `replication`: entries, snapshots, commits
- `server`: a member's handling of a message
- `joining`: members that join and leave
- `membership`: other requests to a leader: commands, leadership transfer, a shorter log
- `log`: the log of a member, as runs of entries
- `step`: a member as a value
- `group`: a group drawn as text

Membership changes one member at a time and is in effect as soon as it is in the log (Ongaro's thesis, 4.1). The next
change waits until the last one and an entry of the leader's own term are committed (Ra's cluster_change_permitted; the
latter mends a fault in the thesis: Ongaro on raft-dev, 2015). A follower uses the configuration in its log at once;
Ra's, after a restart, only once it is committed.

Left out of Ra: machine versions, consistent queries and their heartbeats, non-voting members, snapshots in chunks.
While a leader hands over it takes no commands but goes on committing, which Ra's postpones.
"""
