"""A RabbitMQ cluster as a value: no files, no wall clock, no global randomness, no printing.

Start with `advance`: its table `HANDLERS` names the function that handles each event. `first_state` builds the first
state, `core.turn` is the one way from a state to the next, `core.trace` and `core.ledger` record what happened.

- `core`: state, simulated time, trace and ledger
- `cluster`: nodes that start, stop, join and leave; partitions; the metadata store
- `queues`: what all types of queues have in common: declaration, policies, contents, limits, expiry, dead letters
- `classic`: mirrored classic queues
- `quorum`: quorum queues; `raft_groups`: the Raft groups of quorum queues, streams and the metadata store; `streams`
- `clients`: connections, publishers, consumers
- `keys`: the key by which a search recognises a state

A module that says `SHARED = True` is shared by engine and kernel: the engine runs it as it stands, and
`hawb.study.compiled` compiles it. Such a module uses whole numbers, sets of nodes as bits and records with attributes,
and no None, string or list. It reaches everything else through functions of the room's `*ports` modules, of which the
kernel has its own.
"""
