"""How nodes come up, written once as `hawb.engine.nodes` is.

- `boot_order`: whom a booting node waits for, and when it comes up
- `arrival`: further ports, what a node that comes up finds; others where it is compiled (`hawb.study.kernel.arrival`)
"""
