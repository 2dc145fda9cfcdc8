"""Start JupyterLab for the lab: `python -m hawb.lab.server` takes the arguments of `jupyter-lab`."""

from __future__ import annotations

import sys
from collections.abc import MutableMapping, Sequence

UNUSED = "rfc3987_syntax"
"""A package that jsonschema uses, if it is installed, to check IRIs, which no schema of Jupyter's has. It builds its
grammar when it is imported, which takes half of the time in which JupyterLab is imported."""


def leave_out_unused() -> None:
    """Have imports of `UNUSED` fail from now on, as if it were not installed."""
    modules: MutableMapping = sys.modules
    modules.setdefault(UNUSED, None)


def main(arguments: Sequence[str]) -> None:
    """Serve JupyterLab until it is stopped."""
    leave_out_unused()
    from jupyterlab.labapp import main as serve

    serve([*arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
