"""A server on loopback that answers like a real cluster's management API (data/real)."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from hawb.exports.watch import Login

REAL = Path(__file__).parents[2] / "data" / "real"
OPERATOR_POLICY = {
    "vhost": "/", "name": "cap", "pattern": "^ha", "apply-to": "queues", "definition": {"max-length": 9}, "priority": 1,
}  # fmt: skip
LOGIN = Login("watcher", "s3cret-word")


Answer = tuple[int, bytes | str]


class Api(BaseHTTPRequestHandler):
    """The management API of one user; `answers` maps a path to (status, body or the address of a redirect), or to
    several of them, each of which is given once and the last for ever."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        token = base64.b64encode(":".join(LOGIN).encode()).decode()
        if self.headers["Authorization"] != f"Basic {token}":
            status, body = 401, b'{"error":"not_authorized","reason":"Login failed"}'
        else:
            result = self.server.answers.get(urlsplit(self.path).path, (404, b"Not Found"))
            status, body = result if isinstance(result, tuple) else result.pop(0) if len(result) > 1 else result[0]
        self.send_response(status)
        if isinstance(body, str):
            self.send_header("Location", body)
            body = b""
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Api)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[str] = []
        files = {name: (REAL / f"api-{name}.json").read_bytes() for name in ("nodes", "overview", "policies", "queues")}
        files["vhosts"] = json.dumps([{"name": "/"}, {"name": "shop"}]).encode()
        files["operator-policies"] = json.dumps([OPERATOR_POLICY]).encode()
        self.answers: dict[str, Answer | list[Answer]] = {
            f"/api/{name}": (200, body) for name, body in files.items()
        }


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """Return the server while it answers."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def quorum_queue(*members: str, online: tuple[str, ...] = ()) -> dict[str, object]:
    """Return a quorum queue with five messages as /api/queues has it; all members are online unless some are named."""
    return {
        "name": "qq", "vhost": "/", "type": "quorum", "durable": True, "node": members[0], "leader": members[0],
        "messages": 5, "members": members, "online": online or members, "arguments": {"x-queue-type": "quorum"},
    }  # fmt: skip


def listing(*queues: dict[str, object]) -> Answer:
    """Return what /api/queues answers for these queues."""
    return 200, json.dumps(queues).encode()
