"""Mirrored classic queues: the replicas of a queue, their synchronisation, failover and crashes.

Start with `mirrors`, then `failover`. A shared function changes the record `q` of a queue
(`hawb.engine.core.state.Queue`) in the current partition, in the turn or trial `t`.
"""
