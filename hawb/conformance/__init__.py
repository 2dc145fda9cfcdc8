"""The maintainers' laboratory: model and broker play random, wide and long stories, and hawb compares them.

Start with `compare` for one scenario and with `fuzz` for campaigns. `races` lists the races of a real cluster.
"""
