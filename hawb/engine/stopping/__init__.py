"""How nodes go down, and are missed, written once as `hawb.engine.nodes` is.

- `going_down`: what a shutdown, a kill and a loss of power are, and what those who are left learn of it
- `draining`: what maintenance mode takes off a node
- `departure`: further ports, what ends with a node; others where it is compiled (`hawb.study.kernel.departure`)
"""
