"""HTML pages as tests read them: their elements, their text, and what would load something."""

from __future__ import annotations

from html.parser import HTMLParser

EMPTY = ("meta", "br", "img", "input")
FETCHING = ("script", "link", "img", "iframe", "object", "embed", "base", "form", "a", "image", "use")


class Page(HTMLParser):
    """The elements of a page with their attributes, its text, and unclosed elements."""

    def __init__(self, page: str):
        super().__init__()
        self.elements, self.said, self.open = [], "", []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open += [] if tag in EMPTY else [tag]

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said += data.replace("\u00a0", " ")
