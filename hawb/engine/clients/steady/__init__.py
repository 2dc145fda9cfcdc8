"""Clients with a rate: when they publish and acknowledge, what blocks them, and when their flow changes something.

Start with `flows`. In shared functions `t` is a turn or a trial, `q` a queue's record, `p` a publisher and `c` a
consumer; each client has a `clock` and counts the ticks of it that are over in `ticks`.
"""
