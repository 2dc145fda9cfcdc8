"""The state of a cluster as a value, simulated time, trace and ledger.

Start with `state`, then `turn`, through which all rules read and change a state.
"""
