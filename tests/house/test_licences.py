"""Licences of the installed packages: each is known and allowed, and their page agrees with the lock."""

from __future__ import annotations

from email import message_from_string
from importlib.metadata import PackageMetadata

import licences
import pytest


def test_page_lists_each_locked_package_with_an_allowed_licence() -> None:
    assert licences.PAGE.read_text(encoding="utf-8") == licences.page()


@pytest.mark.parametrize(
    "stated",
    [
        "",
        "License-Expression: MIT AND SSPL-1.0",
        "License: Mine",
        "License: UNKNOWN",
        "Classifier: License :: Other/Proprietary License",
    ],
)
def test_missing_or_forbidden_licence_is_refused(monkeypatch, stated: str) -> None:
    found: PackageMetadata = message_from_string(f"Name: x\n{stated}")
    monkeypatch.setattr(licences, "metadata", lambda name: found)
    with pytest.raises(ValueError, match="x: its licence is not among those that are allowed"):
        licences.licence("x")


def test_licence_of_a_package_for_another_system_is_looked_up() -> None:
    assert licences.licence("colorama") == "BSD-3-Clause"
    with pytest.raises(ValueError, match="look its licence up"):
        licences.licence("no-such-package")
