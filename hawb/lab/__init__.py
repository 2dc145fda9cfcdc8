"""Provide the lab: a cluster on one page that the user stops, kills and repairs.

`show()` in a notebook opens it. `controller` carries out all actions and imports no widget; the panels display its
state and pass the user's actions to it.
"""


def __getattr__(name: str):
    """Import `show` on first access, so that importing the controller imports no widgets."""
    if name == "show":
        from hawb.lab.page import show

        return show
    raise AttributeError(f"module 'hawb.lab' has no attribute {name!r}")
