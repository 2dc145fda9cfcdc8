"""Answers as their kept JSON Schemas have them, without a key that a schema does not know."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from hawb.views.schemas import kept


def validate(command: str, told: Any) -> None:
    """Raises jsonschema.ValidationError where an answer is not as the command's schema has it, or has a key more."""
    _validator(command).validate(told)


@cache
def _validator(command: str) -> Draft202012Validator:
    return Draft202012Validator(closed(json.loads(kept(command))))


def closed(schema: Any) -> Any:
    """A schema in which no object has other keys than those that it names."""
    if isinstance(schema, list):
        return [closed(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    told = {key: closed(inner) for key, inner in schema.items()}
    return told | {"additionalProperties": False} if isinstance(schema.get("properties"), dict) else told
