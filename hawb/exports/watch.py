"""Read a running cluster over its management HTTP API, as `hawb import` reads files.

hawb writes nothing to the cluster: every request is a GET. It puts definitions together from policies and virtual
hosts, because /api/definitions requires an administrator and holds password hashes; a user tagged `monitoring` is
enough. hawb sends the password only to the host of the given address, follows no redirect, and stores the password
nowhere.
"""

from __future__ import annotations

import base64
import json
import tempfile
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from hawb import process
from hawb.exports.imported import Imported, import_cluster
from hawb.exports.queue_rows import Row
from hawb.exports.untrusted import MAX_BYTES, ImportRefused

TIMEOUT_S = 60
"""The time limit of one answer, in seconds. A cluster with many queues is slow."""
LISTINGS = {
    "queues": ",".join(name for name in Row.__struct_fields__ if name != "message_stats"),
    "nodes": "name,running,type,net_ticktime,partitions,mem_alarm,disk_free_alarm,being_drained",
    "overview": "rabbitmq_version,object_totals",
}
"""The listings that hawb requests, each with the columns that a scenario needs."""
POLICY = ("pattern", "definition", "priority", "apply-to")


class ApiRefused(Exception):  # noqa: N818 - named for what it says
    """The cluster's API could not be read. The text says why and what helps."""


class Login(NamedTuple):
    """A user of the management API."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Login({self.user!r})"


class _NoRedirect(HTTPRedirectHandler):
    """Refuse redirects: one would take the password to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


def watch(url: str, login: Login) -> Imported:
    """Return a running cluster as a scenario. `url` is the address of its management API, as http://HOST:15672.

    Raise ApiRefused, or ImportRefused for an answer that RabbitMQ would not send.
    """
    base = checked(url)
    with tempfile.TemporaryDirectory(dir=process.folder()) as folder:
        definitions = Path(folder, "definitions")
        definitions.write_text(json.dumps(definitions_of(base, login)), encoding="utf-8")
        listings = []
        for name, columns in LISTINGS.items():
            listings.append(Path(folder, name))
            listings[-1].write_bytes(ask(base, f"{name}?columns={columns}", login))
        try:
            found = import_cluster(definitions, listings)
            # The listing of a cluster without queues is empty, and still complete.
            return replace(found, live=found.live._replace(queues_listed=True))
        except ImportRefused as refused:
            address = f"{base}/api/{refused.file.name}"
            raise ImportRefused(address, refused.place, refused.given, refused.accepted) from None


def checked(url: str) -> str:
    """Return the address without a slash at its end. Raise ApiRefused for an address that is not usable."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        given = repr(url) if "@" not in url else "what was given"  # the text before an @ may be a password
        raise ApiRefused(f"{given} is not an address of a management API\n  accepted: one such as http://HOST:15672")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ApiRefused("the management API's address has more than a host and a path\n"
                         "  accepted: one without user, password, query or fragment")  # fmt: skip
    return url.rstrip("/")


def definitions_of(base: str, login: Login) -> dict[str, Any]:
    """Return an export of policies and virtual hosts; queues come from their listing. Raise ApiRefused."""
    vhosts, policies, operator_policies = (
        parsed(base, path, login) for path in ("vhosts?columns=name", "policies", "operator-policies")
    )
    if not all(isinstance(one, dict) and {"vhost", "name"} <= one.keys() for one in operator_policies):
        raise ApiRefused(f"{base}/api/operator-policies: the answer is not a list of policies; is this RabbitMQ's"
                         " management API?")
    parameters = [
        {
            "component": "operator_policy", "vhost": policy["vhost"], "name": policy["name"],
            "value": {key: policy[key] for key in POLICY if key in policy},
        }
        for policy in operator_policies
    ]  # fmt: skip
    return {"vhosts": vhosts, "policies": policies, "parameters": parameters, "queues": []}


def parsed(base: str, path: str, login: Login) -> Any:
    """Return the JSON of the API's answer. Raise ApiRefused."""
    try:
        return json.loads(ask(base, path, login))
    except ValueError:
        raise ApiRefused(f"{base}/api/{path}: the answer is not JSON; is this RabbitMQ's management API?") from None


def ask(base: str, path: str, login: Login) -> bytes:
    """Return the body of the API's answer to a GET. Raise ApiRefused."""
    address = f"{base}/api/{path}"
    token = base64.b64encode(f"{login.user}:{login.password}".encode()).decode()
    request = Request(address, headers={"Authorization": f"Basic {token}", "Accept": "application/json"})
    try:
        with build_opener(_NoRedirect).open(request, timeout=TIMEOUT_S) as answer:
            body = answer.read(MAX_BYTES + 1)
    except HTTPError as error:
        raise ApiRefused(f"{address}: {meaning_of(error.code)}") from None
    except (OSError, HTTPException, UnicodeError) as error:
        raise ApiRefused(f"{address}: {getattr(error, 'reason', None) or error}") from None
    if len(body) > MAX_BYTES:
        raise ApiRefused(f"{address}: the answer has more than {MAX_BYTES} bytes")
    return body


def meaning_of(status: int) -> str:
    """Return a message about an HTTP status: the likely error in the user or the address."""
    reasons = {
        401: "the user or the password is wrong, or the user has no tag; the tag `monitoring` is enough",
        403: "the user is not allowed to see this; the tag `monitoring` is enough",
        404: "no such page; is this RabbitMQ's management API, without a path prefix?",
    }
    moved = "the answer is a redirect, which hawb does not follow; give the new address instead"
    return f"status {status}: {reasons.get(status, moved if 300 <= status < 400 else 'no usable answer')}"
