"""Clients with a rate: when they publish, what holds them up, and when what flows changes something by itself.

Written once: the engine runs it as it stands, the kernel of studies compiles it with ports of its own (`ports`). `t` is
a turn or a trial, `q` a queue's record, `p` a publisher and `c` a consumer, written to in place; each client has a
`clock` and counts the `beats` of it that are over.
"""
