"""What nodes do about each other, written once: the engine runs it as it stands, the kernel of studies compiles it.

A function changes the records of nodes (`hawb.engine.state.Node`) of the turn, or trial, `t` that it is given; what
else it needs, and what else comes of it, goes by way of `ports`, which are others where it is compiled
(`hawb.study.kernel.node_ports`). So all that is written here, but for `ports`, does with whole numbers, sets as bits,
and records that have attributes: no None, no string, no list.

- `ports`: all that is otherwise where it is compiled
- `sight`: who takes whom for running, and who answers
- `metadata`: changes that wait for nodes that do not answer
- `partition_handling`: who pauses, and which side gives in
"""
