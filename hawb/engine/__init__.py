"""A RabbitMQ cluster as a value: no files, no wall clock, no global randomness, no printing.

`cluster` builds the first state, `turn` is the one way from a state to the next, `trace` and `ledger` are what a person
reads afterwards. The modules between them are named for what happens: `membership` (nodes stop and die), `nodes` (what
they do about each other) and `booting`, which the kernel of studies compiles, `mirroring` (replicas join and leave),
`failover` with `burial`, `refusal` and `outage`, `synchronisation`, `policy_changes`, `queues`, `publishing`,
`consuming`, `settling`.
"""
