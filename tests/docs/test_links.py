"""Links of pages that are shown in another place than their file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hawb.docs.links import followed, section_of, with_sections

TEXT = "# One\n\nbefore\n\n## Two\n\n[a](data/a.yaml)\n\n```\n## no heading\n```\n\n## Three\n\nafter\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    for name in ("data/a.yaml", "data/README.md"):
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize("link, becomes", [
    ("[a](data/a.yaml)", "[a](../../data/a.yaml)"),
    ("![a](data/a.yaml)", "![a](../../data/a.yaml)"),
    ("[it](data/README.md#part)", "[it](scenarios.md#part)"),
    ("[b](data/none.yaml)", "[b](data/none.yaml)"),
    ("[c](https://rabbitmq.com/x)", "[c](https://rabbitmq.com/x)"),
    ("[d](#here)", "[d](#here)"),
    ("```text\n[a](data/a.yaml)\n```", "```text\n[a](data/a.yaml)\n```"),
])  # fmt: skip
def test_link_leads_to_the_page_of_a_file_or_to_the_file(checkout: Path, link: str, becomes: str) -> None:
    shown = {checkout / "data" / "README.md": checkout / "site" / "reference" / "scenarios.md"}
    page = checkout / "site" / "reference" / "limits.md"
    assert followed(link, checkout / "one.md", page, shown) == becomes


def test_included_section_has_adjusted_links(checkout: Path) -> None:
    (checkout / "README.md").write_text(TEXT)
    origin, page = checkout / "hawb" / "page.md", checkout / "site" / "page.md"
    result = with_sections("x\n```{include} ../README.md\n:section: Two\n```\ny\n", origin, page, {})
    assert result == "x\n[a](../data/a.yaml)\n\n```\n## no heading\n```\ny\n"


def test_missing_section_is_refused() -> None:
    with pytest.raises(KeyError, match="Four: no such section; there are: ## Two, ## Three"):
        section_of(TEXT, "Four")
