"""How JupyterLab is started for the lab."""

from __future__ import annotations

import subprocess
import sys

LOADED = "import sys, jsonschema; print(*sys.modules)"


def test_the_lab_starts_without_the_grammar_of_iris():
    code = f"from hawb.lab.server import leave_out_unused; leave_out_unused(); {LOADED}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "jsonschema" in done.stdout.split() and "lark" not in done.stdout.split()
