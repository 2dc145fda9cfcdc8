"""Check answers against their stored JSON Schemas, with no keys that a schema does not name."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from hawb.views.schemas import kept


def validate(command: str, result: Any) -> None:
    """Raise jsonschema.ValidationError if an answer does not fit the command's schema or has another key."""
    _validator(command).validate(result)


@cache
def _validator(command: str) -> Draft202012Validator:
    return Draft202012Validator(closed(json.loads(kept(command))))


def closed(schema: Any) -> Any:
    """Return a schema in which objects have only the keys that it names."""
    if isinstance(schema, list):
        return [closed(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(inner) for key, inner in schema.items()}
    return found | {"additionalProperties": False} if isinstance(schema.get("properties"), dict) else found
