"""Extract the reason of a failure from Spark's errors: a few lines out of hundreds of Java and Python.

Spark repeats an error once for each layer that it passed. The reason is Python's message with its notes, where there is
one; else the innermost of Java's causes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

FAILURES = (PySparkException, Py4JError)
"""The exceptions that Spark raises.

They are its own, and Java's where it has none of its own, such as for a task that cannot write.
"""

KNOWN = {
    "No space left on device": "the disk is full",
    "exited unexpectedly": "a Python worker died several times; perhaps the operating system killed it because memory"
                           " was short",
    "OutOfMemoryError": "Java is out of memory: spark.driver.memory sets how much it may use",
    "No module named 'pyspark'": "the executors' Python has no pyspark: set spark.pyspark.python to one with"
                                 " hawb[study]",
    "No module named 'hawb'": "the executors' Python has no hawb: set spark.pyspark.python to one with hawb[study]",
    "PYTHON_VERSION_MISMATCH": "the executors' Python has another version than hawb's Python here: set"
    f" spark.pyspark.python to a Python {'.'.join(map(str, sys.version_info[:2]))} with hawb[study]",
    "CONCURRENT_STREAM_LOG_UPDATE": "another run writes into the folder, on a machine whose locks are not visible here",
}
"""Clearer reasons than Spark's, by a part of Spark's message."""

RAISED = re.compile(r"Traceback \(most recent call last\):\n(.*?)(?:\n\s*(?:\n|at |SQLSTATE|===)|\Z)", re.DOTALL)
FRAME = re.compile(r"(?:  File .*\n(?:    .*\n)*)+")
IN_BATCH = re.compile(r"BatchFailed: <<(.*?)>>", re.DOTALL)
CAUSE = re.compile(r"^\s*Caused by: (.+)$", re.MULTILINE)


SECRET = re.compile(r"(?i)secret|password|token|access[.]?key")
"""A part of the names of settings whose values are not shown: Spark's `spark.redaction.regex`."""
_secrets: set[str] = set()


def keep_secret(settings: Mapping[str, str]) -> None:
    """Never show the values of those of these settings whose key names a secret."""
    _secrets.update(value for key, value in settings.items() if value and SECRET.search(key))


def without_secrets(message: str) -> str:
    """Return a message of Java with asterisks in place of secrets."""
    for secret in sorted(_secrets, key=len, reverse=True):
        message = message.replace(secret, "***")
    return message


class BatchFailed(RuntimeError):  # noqa: N818 - it reads as what happened
    """A batch of a stream could not be written. The message is short.

    Spark searches errors raised within a batch with a regular expression that overflows its stack on long ones.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(f"<<{why(str(error))}>>")


class SparkFailed(RuntimeError):  # noqa: N818 - it reads as what happened
    """Spark failed, with the reason."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"Spark stopped: {why(str(error))}")


class StudyFailed(SparkFailed):
    """Spark could not write the trials of a study into a folder; the message has the reason and the way to continue."""

    def __init__(self, error: Exception, folder: Path) -> None:
        super().__init__(error)
        self.args = (
            f"the study stopped: {why(str(error))}\n"
            f"  kept: the trials in {folder}\n"
            "  to continue: remove the cause, then run the same command again",
        )


def why(message: str) -> str:
    """Return the reason in a message of Spark, without secrets."""
    message = without_secrets(message)
    if in_batch := IN_BATCH.search(message):
        return in_batch[1]
    for part, meaning in KNOWN.items():
        if part in message:
            return meaning
    if raised := RAISED.findall(message):
        return re.sub(r"^(\w+\.)+(?=[A-Z])", "", FRAME.sub("", raised[-1] + "\n").strip()).replace("\n", "\n    ")
    if causes := CAUSE.findall(message):
        return causes[-1].strip()
    return message.strip().splitlines()[0]
