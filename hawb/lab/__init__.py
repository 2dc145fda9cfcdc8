"""The lab: a cluster on one page, to be stopped, killed and repaired by hand. `show()` in a notebook opens it.

`controller` does everything and knows no widget; the panels show it and pass on what a person does.
"""


def __getattr__(name: str):
    """`show` on first use, so that the controller can be had without widgets."""
    if name == "show":
        from hawb.lab.page import show

        return show
    raise AttributeError(f"module 'hawb.lab' has no attribute {name!r}")
