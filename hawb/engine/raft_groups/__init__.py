"""The Raft groups of quorum queues, streams and the Khepri metadata store.

Start with `group`, the record of a group's members, then `hosting`, which passes inputs to members and acts on their
outputs. The protocol itself is in `hawb.raft`. A shared function changes the record `g` of a group in the turn or trial
`t`.
"""
