"""Links between nodes that break, and the sides that a cluster falls into, written once as `hawb.engine.nodes` is.

- `links`: links that drop everything, are given up, and work again
- `sides`: how one side becomes several, and how their nodes find together again
- `disks`: what is gone with the disks of nodes, on all sides
- `ports`: further ports, what is on its way over links and what records say; others where it is compiled
  (`hawb.study.kernel.network_ports`)
"""
