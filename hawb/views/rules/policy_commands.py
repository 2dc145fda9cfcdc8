"""A policy as a user sets it: `rabbitmqctl` on Unix and on Windows, the HTTP API, the management UI.

The default of these tools differs from that of a scenario: a policy set without apply-to applies to exchanges as well
(`all`), so only that value is left out here. Options are written with `=`, which also accepts values that begin with a
dash; a `--` goes before a name or pattern that does. JSON is written in ASCII, so that no code page can spoil it.

Sources: `set_policy_command.ex` and Elixir's OptionParser, `rabbitmqctl.bat`, `rabbit_mgmt_wm_policy`, the UI's
`policies.ejs`.
"""

from __future__ import annotations

import json
import re
import shlex
from urllib.parse import quote

from msgspec import Struct

from hawb.rules.policies import Policy

PLAIN_ON_WINDOWS = re.compile(r"[A-Za-z0-9_.@/:=+-]+")
"""Arguments that neither cmd nor the program after it changes."""

APPLY_TO_IN_UI = {
    "all": "Exchanges and queues",
    "exchanges": "Exchanges",
    "queues": "Queues",
    "classic_queues": "Classic Queues",
    "quorum_queues": "Quorum Queues",
    "streams": "Streams",
}


class HttpRequest(Struct, frozen=True):
    """A request to the management HTTP API; `body` is JSON, or None."""

    method: str
    path: str
    body: str | None = None


def set_arguments(policy: Policy, operator: bool = False) -> list[str]:
    """Return the arguments of `rabbitmqctl` that set a policy."""
    options = [
        *([f"--vhost={policy.vhost}"] if policy.vhost != "/" else []),
        *([f"--priority={policy.priority}"] if policy.priority != 0 else []),
        *([f"--apply-to={policy.apply_to}"] if policy.apply_to != "all" else []),
    ]
    verb = "set_operator_policy" if operator else "set_policy"
    return [verb, *options, *_positional(policy.name, policy.pattern, _json(policy.definition))]


def clear_arguments(policy: Policy, operator: bool = False) -> list[str]:
    """Return the arguments of `rabbitmqctl` that clear a policy."""
    options = [f"--vhost={policy.vhost}"] if policy.vhost != "/" else []
    return ["clear_operator_policy" if operator else "clear_policy", *options, *_positional(policy.name)]


def unix_line(arguments: list[str]) -> str:
    """Return a line for any POSIX shell that calls `rabbitmqctl` with exactly these arguments.

    Raise ValueError for a NUL.
    """
    _refuse(arguments, "\0", "a Unix command")
    return shlex.join(["rabbitmqctl", *arguments])


def windows_line(arguments: list[str]) -> str:
    """Return a line to type at the Windows command prompt (cmd, not PowerShell).

    It is not for a batch file, which reads % differently. Raise ValueError for a line break, which cannot be typed.

    Everything special is quoted. A quote inside is doubled, which cmd and the program both understand, and backslashes
    before a quote are doubled for the program alone. A % cannot be quoted: it goes outside the quotes after a ^, which
    no variable's name contains, so cmd substitutes nothing.
    """
    _refuse(arguments, "\0\r\n", "a Windows command line")
    return " ".join(["rabbitmqctl.bat", *map(_windows_quoted, arguments)])


def http_set(policy: Policy, operator: bool = False) -> HttpRequest:
    """Return the request that sets a policy."""
    fields = {
        "pattern": policy.pattern,
        "definition": policy.definition,
        "priority": policy.priority,
        "apply-to": policy.apply_to,
    }
    return HttpRequest("PUT", _path(policy, operator), _json(fields))


def http_clear(policy: Policy, operator: bool = False) -> HttpRequest:
    """Return the request that clears a policy."""
    return HttpRequest("DELETE", _path(policy, operator))


def ui_set(policy: Policy, operator: bool = False) -> list[str]:
    """Return the steps that set a policy in the management UI; the value to enter is at the end of its step."""
    kind = "operator policy" if operator else "policy"
    return [
        f'Open Admin > Policies and unfold "Add / update {"an" if operator else "a"} {kind}"',
        *([f"Next to Virtual host choose {policy.vhost}"] if policy.vhost != "/" else []),
        f"Next to Name enter {policy.name}",
        f"Next to Pattern enter {policy.pattern}",
        f"Next to Apply to choose {APPLY_TO_IN_UI[policy.apply_to]}",
        *([f"Next to Priority enter {policy.priority}"] if policy.priority != 0 else []),
        *[_ui_setting(key, value) for key, value in policy.definition.items()],
        f'Press "Add / update {kind}"',
    ]


def ui_clear(policy: Policy, operator: bool = False) -> list[str]:
    """Return the steps that clear a policy in the management UI."""
    where = f" of the virtual host {policy.vhost}" if policy.vhost != "/" else ""
    if operator:
        return ["Open Admin > Policies", f'Press "Clear" in the row of the operator policy {policy.name}{where}']
    return [f"Open Admin > Policies and click on the policy {policy.name}{where}", 'Press "Delete this policy"']


def _positional(*arguments: str) -> list[str]:
    return ["--", *arguments] if any(argument.startswith("-") for argument in arguments) else [*arguments]


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _refuse(arguments: list[str], characters: str, where: str) -> None:
    for argument in arguments:
        if any(character in argument for character in characters):
            raise ValueError(f"{argument!r} cannot be written in {where}: it has a NUL or a line break")


def _windows_quoted(argument: str) -> str:
    if PLAIN_ON_WINDOWS.fullmatch(argument):
        return argument
    return "^%".join(f'"{_quotes_doubled(part)}"' for part in argument.split("%"))


def _quotes_doubled(part: str) -> str:
    return re.sub(r'(\\*)("|$)', lambda found: found[1] * 2 + found[2] * 2, part)


def _path(policy: Policy, operator: bool) -> str:
    collection = "operator-policies" if operator else "policies"
    return f"/api/{collection}/{quote(policy.vhost, safe='')}/{quote(policy.name, safe='')}"


def _ui_setting(key: str, value: object) -> str:
    if isinstance(value, list):
        elements = ", ".join(f"{_ui_text(element)} ({_ui_type(element)})" for element in value)
        return f"Under Definition enter {key}, choose List, and enter its elements: {elements}"
    return f"Under Definition enter {key}, choose {_ui_type(value)}, and enter {_ui_text(value)}"


def _ui_text(value: object) -> str:
    return value if isinstance(value, str) else _json(value)


def _ui_type(value: object) -> str:
    if isinstance(value, bool):
        return "Boolean"
    return "Number" if isinstance(value, int | float) else "String"
