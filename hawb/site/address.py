"""Write a state of the site's lab as an address, the part of its URL behind the #, and read it.

An address has the story that was opened and the steps played since, in the form of a query, such as `kill=a&start=b` or
`story=quorum-leader-killed&ahead=2`. A step at a time is `kill@12.5=a`; an argument that is more than a name is JSON. A
scenario that is not one of the site's, such as one with another policy from its beginning, is included as a whole,
deflated. Addresses are untrusted input: their length, number of steps and size are limited, and all of it is validated
as a scenario file is.
"""

from __future__ import annotations

import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from hawb.lab.history import Point, part
from hawb.lab.sources import START
from hawb.scenario.dump import plain
from hawb.scenario.load import ScenarioRefused, load
from hawb.scenario.text import parse

MOST_CHARACTERS, MOST_FIELDS, MOST_BYTES = 20_000, 300, 200_000
"""Limits of an address: its characters, its fields, and the bytes of the unpacked scenario in it."""

ALLOWED = ":,/@"
"""Characters that need no escape behind a #."""

Stories = Mapping[str, Path]
"""The files of the stories that an address can name, by the stories' titles."""


def address(point: Point, stories: Stories) -> str:
    """Return the address of a point; "" for the lab's own cluster at rest, and if it would be too long."""
    origin = point.origin
    document = origin.document
    steps = document["steps"]
    file = stories.get(document["scenario"])
    if file is None or not _is_begun_by(document, file):
        fields = [("scenario", _packed(document)), *([("rest", origin.rest)] if origin.rest else [])]
    else:
        fields = [("story", file.stem)] if file != START else []
        fields += [_field(step) for step in steps[len(_document(file)["steps"]) :]]
    fields += [("ahead", len(origin.ahead))] if origin.ahead else []
    fields += [("moment", point.position)] if point.at_s is not None else []
    text = urlencode(fields, safe=ALLOWED, quote_via=quote)
    return text if len(text) <= MOST_CHARACTERS else ""


def point_at(text: str, stories: Stories) -> Point:
    """Return the point of an address; undo leads back through the steps played since the story was opened.

    Raise ScenarioRefused for an invalid address.
    """
    given, steps = _read(text)
    if "scenario" in given:
        document, rest = _unpacked(given["scenario"]), _number(given, "rest")
        done = max(len(_steps_of(document)) - 1, rest)
    else:
        name = given.get("story", START.stem)
        file = next((file for file in stories.values() if file.stem == name), None)
        if file is None:
            raise ScenarioRefused("there is no such story", given=name)
        document = _document(file)
        done = len(document["steps"])
        rest = done if file == START else 0
    steps = [*_steps_of(document), *steps]
    played = len(steps) - _number(given, "ahead")
    if not rest <= played:
        raise ScenarioRefused("there are not so many steps", given=given.get("ahead", given.get("rest")))
    run, ahead = part(document | {"steps": steps}, min(done, played))
    point = Point(run, ahead, opened=True, rest=rest)
    while len(point.run.steps) < played:
        point = point.with_step_forward()
    return point.looking_at(_number(given, "moment")) if "moment" in given else point


@cache
def _document(file: Path) -> dict:
    """Return a scenario file as plain values that always have steps."""
    return {"steps": [], **plain(load(file))}


def _is_begun_by(document: dict, file: Path) -> bool:
    """Return True if a document is a file's scenario, with or without more steps."""
    begun = _document(file)
    return begun == document | {"steps": document["steps"][: len(begun["steps"])]}


def _field(step: dict) -> tuple[str, str]:
    """Return a step as a field: its verb and its time, and its argument."""
    (verb, argument), *time = step.items()
    return verb + "".join(f"@{at}" for _name, at in time), _written(argument)


def _written(argument: Any) -> str:
    """Return an argument as text: a name unquoted if it is read back as text, other values as JSON."""
    try:
        if isinstance(argument, str) and parse(argument) == argument:
            return argument
    except ScenarioRefused:
        pass
    return json.dumps(argument, ensure_ascii=False, separators=(",", ":"))


def _read(text: str) -> tuple[dict[str, str], list[dict]]:
    """Return an address's fields about the story, and its steps."""
    if len(text) > MOST_CHARACTERS:
        raise ScenarioRefused("the address is too long", accepted=f"at most {MOST_CHARACTERS} characters")
    try:
        fields = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=MOST_FIELDS,
                           errors="strict")  # fmt: skip
    except ValueError as error:
        raise ScenarioRefused("not an address", given=text, accepted="steps such as kill=a&start=b") from error
    about = {key: value for key, value in fields if key in ABOUT}
    return about, [_step(key, value) for key, value in fields if key not in ABOUT]


ABOUT = ("story", "scenario", "rest", "ahead", "moment")
"""The fields that are not steps."""


def _step(key: str, value: str) -> dict:
    verb, _at, time = key.partition("@")
    return {verb: parse(value)} | ({"at": parse(time)} if time else {})


def _number(given: dict[str, str], key: str) -> int:
    """Return the field's whole number, 0 if it is missing."""
    text = given.get(key, "0")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ScenarioRefused(f"{key} is not a whole number", given=text)
    return int(text)


def _packed(document: dict) -> str:
    """Return a scenario as characters that an address may have."""
    written = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return urlsafe_b64encode(zlib.compress(written, 9)).decode().rstrip("=")


def _unpacked(text: str) -> dict:
    """Return the plain values of a packed scenario, not yet validated."""
    try:
        unpacking = zlib.decompressobj()
        written = unpacking.decompress(urlsafe_b64decode(text + "=" * (-len(text) % 4)), MOST_BYTES)
    except (ValueError, zlib.error) as error:
        raise ScenarioRefused("the scenario in the address cannot be read", given=text[:40]) from error
    if not unpacking.eof:
        raise ScenarioRefused("the scenario in the address is too large or cut off")
    document = parse(written)
    if not isinstance(document, dict):
        raise ScenarioRefused("not a scenario", given=document)
    return document


def _steps_of(document: dict) -> list:
    """Return the steps of a scenario that is not yet validated."""
    steps = document.get("steps", [])
    if not isinstance(steps, list):
        raise ScenarioRefused("steps are not a list", given=steps)
    return steps
