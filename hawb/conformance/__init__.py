"""The maintainers' laboratory: model and broker play random, wide and long stories, and hawb compares them.

Start with `compare` for one scenario and with `fuzz` for campaigns. `races` names what is random on a real cluster.
"""
