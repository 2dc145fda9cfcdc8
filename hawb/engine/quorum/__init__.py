"""Quorum queues: the state machine `rabbit_fifo`, and how clients' requests reach it and are answered.

Start with `requests`, then `fifo`. The Raft groups themselves are in `hawb.engine.raft_groups`.
"""
