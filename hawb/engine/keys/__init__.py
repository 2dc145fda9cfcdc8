"""The key of a state: states with equal keys have the same future, so that a search visits only one of them.

Start with `state_key`.
"""
