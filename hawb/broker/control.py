"""A hidden Erlang node beside the cluster (`control.erl`): a call takes milliseconds, rabbitmqctl half a second."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from hawb.broker.namespaces import address, inside
from hawb.broker.roots import Release

SOURCE = Path(__file__).with_name("control.erl")


class Atom(str):
    """An Erlang atom; a plain string is a binary."""


class Raw(str):
    """An Erlang term in source form."""


class CallFailed(Exception):  # noqa: N818 - named for what it says
    """A remote call that returned no value."""


def term(value: Any) -> str:
    """Return a value in Erlang's syntax: lists, tuples and numbers as they are, text as binaries."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Atom):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if "." in repr(value) else f"{value:.17e}"
    if isinstance(value, str):
        return "<<" + ",".join(map(str, value.encode())) + ">>"
    if isinstance(value, tuple):
        return "{" + ",".join(map(term, value)) + "}"
    return "[" + ",".join(map(term, value)) + "]"


def reason_of(answer: Any) -> str | None:
    """Return the reason with which rabbitmqctl would end with an error; None if it would not."""
    if isinstance(answer, list) and answer and answer[0] in ("error_string", "error"):
        return text_of(answer[1] if len(answer) > 1 else answer[0])
    return "not_migrated" if isinstance(answer, list) and answer[:1] == ["not_migrated"] else None


def text_of(reason: Any) -> str:
    """Return a reason as text."""
    return reason if isinstance(reason, str) else json.dumps(reason)


def reasons_of_rows(rows: list[list]) -> list[str]:
    """Return the reasons that `rabbitmq-queues grow` and `shrink` print for queues whose members did not change.

    A row is a queue's name and {ok, members} or {error, members, reason}.
    """
    return [text_of(result[-1]) for _, result in rows if result[0] == "error"]


class Control:
    """The hidden node, in the hub's namespace, of the brokers' own Erlang; `call` may be used from any thread."""

    def __init__(self, namespace: str, directory: Path, home: Path, release: Release):
        environment = erlang_environment(home) | {"ERL_LIBS": str(release.libraries)}
        source = shutil.copy(SOURCE, directory)
        compiler = release.command(["erlc", "-o", str(directory), source], home)
        subprocess.run(compiler, check=True, env=environment, capture_output=True)
        command = ["erl", "-noinput", "-hidden", "-connect_all", "false", "-name", f"control@{address(254)}"]
        command += ["-pa", str(directory), "-kernel", "net_ticktime", "3600", "-s", "control", "serve"]
        self._process = subprocess.Popen(
            inside(namespace, release.command(command, home)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
            env=environment, start_new_session=True, cwd=directory,
        )  # fmt: skip
        self._lock = threading.Lock()
        self._number = 0
        self._waiting: dict[str, Future] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def call(self, node: str, module: str, function: str, *arguments: Any, timeout_s: float = 10) -> Any:
        """Return the value of a call on a node. Raise CallFailed."""
        milliseconds = int(timeout_s * 1000)
        what = ",".join(map(term, (Atom(node), Atom(module), Atom(function), list(arguments), milliseconds)))
        return self.evaluate(f"control:call({what})", timeout_s + 5)

    def cast(self, node: str, module: str, function: str, *arguments: Any) -> None:
        """Make a node call a function, without waiting for the answer."""
        what = ",".join(map(term, (Atom(node), Atom(module), Atom(function), list(arguments))))
        self.evaluate(f"erpc:cast({what})")

    def evaluate(self, expression: str, timeout_s: float = 15) -> Any:
        """Return the value of an expression on the control node itself. Raise CallFailed."""
        with self._lock:
            self._number += 1
            number = str(self._number)
            future = self._waiting[number] = Future()
            self._process.stdin.write(f"{number} {expression}.\n")
        try:
            value = future.result(timeout_s)
        except TimeoutError:
            raise CallFailed(f"no answer within {timeout_s:g} s") from None
        if isinstance(value, dict) and set(value) == {"failed"}:
            raise CallFailed(value["failed"] if isinstance(value["failed"], str) else json.dumps(value["failed"]))
        return value

    def close(self) -> None:
        """End the hidden node."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        for line in self._process.stdout:
            number, _, text = line.partition(" ")
            future = self._waiting.pop(number, None)
            if future is not None:
                future.set_result(json.loads(text))
        for future in self._waiting.values():
            future.set_result({"failed": "the control node ended"})


def erlang_environment(home: Path) -> dict[str, str]:
    """Return the environment variables that an Erlang node needs, and none of the user's own.

    The cookie is in `home`.
    """
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
