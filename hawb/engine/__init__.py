"""A RabbitMQ cluster as a value: no files, no wall clock, no global randomness, no printing.

`cluster` builds the first state, `turn` is the one way from a state to the next, `trace` and `ledger` are what a person
reads afterwards. The modules between them are named for what happens: `clustering`, `policy_changes`, `queues`,
`publishing`, `consuming`, `settling`. Rules that the kernel of studies compiles as well have rooms of their own:
`nodes` (what nodes do about each other), `stopping`, `booting`, `classic` (what replicas of a classic queue do),
`quorum` (how Raft groups are hosted) and `steady` (clients with a rate).
"""
