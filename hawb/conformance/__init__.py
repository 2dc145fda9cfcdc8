"""The maintainers' laboratory: random, wide and long stories played by model and broker, and what differs.

Start with `compare` for one scenario and with `fuzz` for campaigns. `races` says what a real cluster leaves to chance.
"""
