"""The app of `make app`, served as notebooks/voila.json says: the lab without code, for holders of the token only."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from http import HTTPStatus

import pytest
from browser_pages import keep_picture, page_of, voila
from lab_controls import lay_out
from lab_journeys import (
    download,
    faults,
    keep_them_and_branch,
    look_everywhere,
    picture_drawers,
    put_beside_and_take_away,
)

ASK = """\
async code => {
  const kernel = JSON.parse(document.getElementById("jupyter-config-data").textContent).kernelId;
  const socket = new WebSocket(`ws://${location.host}/api/kernels/${kernel}/channels`);
  const message = (type, content) => JSON.stringify({
    channel: "shell", content, parent_header: {}, metadata: {}, buffers: [],
    header: {msg_id: type, msg_type: type, session: "a visitor's", username: "", date: "", version: "5.3"},
  });
  await new Promise(opened => { socket.onopen = opened; });
  return await new Promise(answered => {
    const heard = [];
    socket.onmessage = event => {
      heard.push(JSON.parse(event.data).header.msg_type);
      if (heard.at(-1) === "kernel_info_reply") answered(heard);
    };
    socket.send(message("execute_request", {code, silent: false, user_expressions: {}}));
    socket.send(message("kernel_info_request", {}));
  });
}
"""
"""Has the page ask its kernel to run code, and then what it is: all that it answers, in order."""


@pytest.mark.full
@pytest.mark.browser
def test_app_shows_the_lab_without_code(tmp_path, in_browser):
    folder = lay_out(tmp_path)
    with voila(folder) as (address, token), page_of() as page:
        wanted = set()
        page.on("request", lambda request: wanted.add(request.url))
        page.goto(address)
        page.get_by_label("Password or token").wait_for()
        assert page.locator(".hawb-lab").count() == 0
        assert page.get_by_label("New Password").count() == 0  # it would be kept beyond this server
        source = page.goto(f"{address}/?token={token}").text()
        assert not re.findall(r"""(?:src|href|import|url)\W{1,3}https?:[^\s"']+""", source)
        page.locator(".hawb-lab").wait_for()
        words = page.locator("body").inner_text()
        assert "This is a simulated RabbitMQ cluster" in words
        assert not [code for code in ("show()", "import ", "Shift+Enter", "In Python") if code in words]
        lab = page.locator(".hawb-lab").bounding_box()
        assert lab["y"] + lab["height"] <= page.viewport_size["height"]
        keep_picture(page, "app")
        assert faults(page) == []
        before = sorted(folder.rglob("*.yaml"))
        assert page.get_by_role("button", name="save", exact=True).count() == 0
        keep_them_and_branch(page, "app", lambda lab: download(page, lab, "scenario"))
        put_beside_and_take_away(page, folder, "app")
        look_everywhere(page, "app", panels=("policy…",))
        picture_drawers(page)
        assert sorted(folder.rglob("*.yaml")) == before
        answers = page.evaluate(ASK, "open('by-a-visitor', 'w')")
        assert "execute_reply" not in answers
        assert not (folder / "notebooks" / "by-a-visitor").exists()
        assert not {url for url in wanted if not url.startswith((address, "data:", "blob:"))}


@pytest.mark.full
@pytest.mark.browser
def test_server_refuses_requests_without_the_token_and_serves_little_with_it(tmp_path, in_browser):
    folder = lay_out(tmp_path)
    (folder / "notebooks" / "picture.png").write_bytes(b"private")
    with voila(folder) as (address, token):
        assert status(f"{address}/") == HTTPStatus.FOUND
        assert status(f"{address}/voila/files/picture.png") == HTTPStatus.FORBIDDEN
        kernel = "00000000-0000-0000-0000-000000000000"
        for path in (f"/api/kernels/{kernel}", f"/api/kernels/{kernel}/channels"):
            assert status(address + path) == HTTPStatus.FORBIDDEN
        for path in ("/api/kernels", "/api/contents", "/api/terminals", "/api/sessions", "/lab", "/tree"):
            assert status(address + path) == HTTPStatus.FOUND  # to the login
            assert status(f"{address}{path}?token={token}") in (HTTPStatus.FOUND, HTTPStatus.NOT_FOUND), path


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Do not follow redirects."""

    def redirect_request(self, *_):
        return None


def status(address: str) -> int:
    """Return the status of a GET without following redirects."""
    try:
        with urllib.request.build_opener(NoRedirects).open(address, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
