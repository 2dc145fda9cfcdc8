"""Start JupyterLab for the lab: `python -m hawb.lab.server` takes the arguments of `jupyter-lab`."""

from __future__ import annotations

import sys
from collections.abc import MutableMapping, Sequence

UNUSED = "rfc3987_syntax"
"""A slow optional dependency of jsonschema, which would use it to check IRIs.

No schema of Jupyter's has IRIs. The package builds its grammar when it is imported, which takes half of JupyterLab's
import time.
"""


def leave_out_unused() -> None:
    """Make later imports of `UNUSED` fail, as if it were not installed."""
    modules: MutableMapping = sys.modules
    modules.setdefault(UNUSED, None)


def main(arguments: Sequence[str]) -> None:
    """Serve JupyterLab until it is stopped."""
    leave_out_unused()
    from jupyterlab.labapp import main as serve

    serve([*arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
