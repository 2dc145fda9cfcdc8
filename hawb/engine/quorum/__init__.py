"""How quorum queues' Raft groups are hosted, and what is decided by them, written once as `hawb.engine.nodes` is.

A function changes the record `g` of a group (`hawb.engine.quorum.group.Group`) in the turn, or trial, `t`. Sets of
nodes are bits. What else it needs, and what else comes of it, goes by way of `ports`, which are others where it is
compiled (`hawb.study.kernel.host_ports`); members are `hawb.raft`'s.

- `group`: members, and what clients have asked; `events`: what is planned of them
- `ports`: all that is otherwise where it is compiled
- `leadership`: who leads, whether that can commit, and who has come how far
- `elections`: when members stand for election
- `hosting`: what happens at members, and what they want done
- `asking`, `registration`: what clients ask until a leader has it, and channels that are to be known for that;
  `hawb.engine.enqueuers` is what the engine has for them
- `flowing`: what is committed without time passing
"""
