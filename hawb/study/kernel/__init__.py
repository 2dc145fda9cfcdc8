"""One trial, compiled: a cluster of whole numbers that a history happens to.

The kernel plays what the engine plays, event by event: the same events at the same microseconds in the same order, with
the same counter behind the same draws, for one queue, without a trace. What RabbitMQ decides it asks of the functions
of `hawb.rules`, compiled. What it leaves out, `setup.refused` refuses by name. That both do the same is what
`tests/test_kernel_agreement.py` holds.

Messages are counted by those that the queue has taken, refused ones left out. So a queue's content is a few windows,
and a mirror's what of it was taken after the mirror came (`since`).

- `state`: what a trial is made of, and the agenda
- `windows`: sets of messages
- `answers`: what publishers are told
- `deliveries`: what consumers get and answer
- `publishing`: what publishers send
- `flows`: what flows between two events
- `mirrors`, `failover`: the queue's replicas
- `nodes`: nodes that go and come
- `upkeep`: clients that come back, nodes that are started, planned work
- `trial`: one trial from its beginning to its horizon
- `setup`: design and environment as whole numbers
- `block`: many trials, one after another
"""
