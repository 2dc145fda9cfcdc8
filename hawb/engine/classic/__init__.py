"""What the replicas of a classic queue do, written once as `hawb.engine.nodes` is.

A function changes the record `q` of a queue (`hawb.engine.state.Queue`) as the side in focus knows it, in the turn, or
trial, `t`. Sets of nodes are bits. What replicas hold, what clients are told, and what is told of it all goes by way of
`ports`, which are others where it is compiled (`hawb.study.kernel.classic_ports`).

- `ports`: all that is otherwise where it is compiled; `journal`: what is told of it, which is nothing there
- `mirrors`: which there are, and what policy makes of them
- `synchronisation`: the master sends everything it has
- `failover`: replicas die, and a mirror takes over; `burial`: the dead; `refusal`: a mirror that does not take over
- `outage`: a queue that nobody serves
- `returning`: what a queue makes of a node that is back
"""
