"""A RabbitMQ cluster as a value: no files, no wall clock, no global randomness, no printing.

`cluster` builds the first state, `turn` is the one way from a state to the next, `trace` and `ledger` are what a person
reads afterwards. The modules between them are named for what happens: `clustering`, `policy_changes`, `queues`,
`publishing`, `consuming`, `settling`. What the kernel of studies compiles as well has rooms of its own: `nodes` (what
nodes do about each other), `stopping`, `booting`, and `classic` (what replicas of a queue do).
"""
