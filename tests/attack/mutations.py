"""Change inputs at random: by bytes, by lines, or as the values that a JSON or YAML file holds."""

from __future__ import annotations

import bz2
import copy
import gzip
import json
import lzma
import re
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

import yaml

HOSTILE_TEXTS = (
    "", " ", "\n", "a" * 5_000, "é" * 300, "\u2028\u202e\x1b[31m\x00\x7f\x85", "\ud800", "\ufeff", "/etc/passwd",
    "../../../outside", "<script>alert(1)</script>", "]]>", "&amp;", "`|*_", "^(a+)+$", "(", "(?R)", "a{9999999}",
    "[[:x:]]", "%s%n{0}", "null", "true", "-", "~", "=", "0", "-1", "1e999", "1_000", "0x10", "12:30:45", "2026-13-45",
    "a::b", "::", "x-queue-type", "quorum", "stream", "classic", "all", "exactly", "nodes", "rabbit@a", "3.8", "4.3.6",
    "9.9", "99999",
)  # fmt: skip
HOSTILE_NUMBERS = (
    0, -1, 1, 2, 255, 65_536, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**40, 10**400, 0.5, -0.0, 1e-320, 1e18,
    1e308, float("inf"), float("nan"),
)  # fmt: skip
HOSTILE_BYTES = (
    b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\r\n", b"\n\n\n", b"\t", b"\x1b]0;x\x07",
    b"{", b"}", b"[", b"]", b'"', b"'", b":", b"- ", b"&a ", b"*a", b"<<: ", b"|", b">",
    b"!!python/object/apply:os.system ['id']", b"%YAML 9.9\n", b"---\n", b"...\n", b"? ", b",",
    b"\\u0000", b"\\ud800", b"1e999", b"-", b"=", b"#",
)  # fmt: skip
WORD = rb"[\w.@-]+"
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
MOST = 200_000
"""Bytes of a changed input: what is larger is cut."""
LARGE = (300_000, 1_000_000)
"""Bytes to which an input is enlarged, from and to before."""
HUGE = (1_000_000, 10_000_000)
"""Bytes to which one of ten such inputs is enlarged."""
NAMING = ("name", "queue", "destination", "consumer", "publisher")

Tree = Any


def changed(random: Random, name: str, content: bytes, other: bytes) -> bytes:
    """Return an input that differs from `content` in a few places; pieces of `other` may come into it."""
    document = _document(name, content)
    if document is not None and random.random() < 0.7:
        content = _written(random, name, _with_changed_values(random, document, _document(name, other)))
        if random.random() < 0.8:
            return content[:MOST]
    for _ in range(_few(random)):
        content = random.choice(BY_BYTES)(random, content, other)[:MOST]
    return content


def enlarged(random: Random, name: str, content: bytes) -> bytes:
    """Return an input that is many times as large: a list of it is repeated with other names, or else all of it."""
    most = random.randrange(*(HUGE if random.random() < 0.1 else LARGE))
    document = _document(name, content)
    lists = [inside[at] for inside, at in _places([document]) if isinstance(inside[at], list) and inside[at]]
    if lists and random.random() < 0.8:
        items = random.choice(lists)
        size = max(1, len(json.dumps(items)))
        items += [_renamed(one, str(number)) for number in range(1, 1 + most // size) for one in list(items)]
        return json.dumps(document).encode(errors="surrogatepass")
    return content * (most // max(1, len(content)))


def _renamed(item: Tree, number: str) -> Tree:
    """Return an item of a list whose own name, or that of the queue that it is about, is another one."""
    if not isinstance(item, dict):
        return item
    names = {key: f"{value}-{number}" for key, value in item.items() if key in NAMING and isinstance(value, str)}
    step = {key: _renamed(value, number) for key, value in item.items() if isinstance(value, dict)}
    return {**item, **(names or step)}


def _few(random: Random) -> int:
    return 1 + int(random.expovariate(0.7))


def _document(name: str, content: bytes) -> Tree | None:
    try:
        return json.loads(content) if name.endswith(".json") else yaml.load(content, LOADER) if ".y" in name else None
    except (ValueError, yaml.YAMLError):
        return None


def _written(random: Random, name: str, document: Tree) -> bytes:
    if not name.endswith(".json") and random.random() < 0.5:
        with suppress(RecursionError, UnicodeEncodeError):  # JSON is YAML too
            return yaml.dump(document, Dumper=DUMPER).encode(errors="surrogatepass")
    return json.dumps(document, ensure_ascii=random.random() < 0.9).encode(errors="surrogatepass")


def _places(tree: Tree, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield tree, key
        if depth < 40:
            yield from _places(value, depth + 1)


def _with_changed_values(random: Random, document: Tree, other: Tree | None) -> Tree:
    root, hostile = [copy.deepcopy(document)], random.random() < 0.5
    donors = list(_places([other if other is not None else document]))
    for _ in range(_few(random)):
        places = list(_places(root))
        if not places:
            return root
        inside, key = random.choice(places)
        if hostile:
            donor, at = random.choice(donors)
            _change(random, inside, key, copy.deepcopy(donor[at]))
        else:
            _vary(random, inside, key, [donor[at] for donor, at in donors if at == key])
    return root[0] if root else None


def _vary(random: Random, inside: Any, key: Any, alike: list[Tree]) -> None:
    """Change one value so that it may still be accepted: to one that stands under the same key elsewhere, say."""
    value = inside[key]
    if isinstance(inside, list):
        draw = random.random()
        if draw < 0.4:
            inside.insert(random.randrange(len(inside) + 1), copy.deepcopy(value))
        elif draw < 0.6:
            inside.append(inside.pop(key))
        elif draw < 0.8 and alike:
            inside.insert(key, copy.deepcopy(random.choice(alike)))
        else:
            del inside[key]
    elif alike and random.random() < 0.6:
        inside[key] = copy.deepcopy(random.choice(alike))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        inside[key] = random.choice((0, 1, value + 1, value * 1_000, value / 2, 10**6, 10**12, 10**15))
    elif isinstance(value, dict) and value:
        del value[random.choice(list(value))]


def _change(random: Random, inside: Any, key: Any, donated: Tree) -> None:
    """Change one value of a list or a mapping in place."""
    value, draw = inside[key], random.random()
    if draw < 0.35:
        inside[key] = _hostile(random, value)
    elif draw < 0.5:
        inside[key] = donated
    elif draw < 0.6:
        del inside[key]
    elif draw < 0.7 and isinstance(inside, dict):
        new = random.choice([*map(str, inside), random.choice(HOSTILE_TEXTS)])
        inside[new] = inside.pop(key)
    elif draw < 0.75 and isinstance(inside, list):
        inside[key:key] = [copy.deepcopy(value) for _ in range(random.choice((1, 2, 30)))]
    elif draw < 0.8 and isinstance(inside, list):
        random.shuffle(inside)
    elif isinstance(value, bool):
        inside[key] = not value
    elif isinstance(value, int | float):
        inside[key] = random.choice((value + 1, value - 1, -value, str(value), value / 3, value * 1_000))
    elif isinstance(value, str):
        longer = value + random.choice(HOSTILE_TEXTS)
        inside[key] = random.choice((longer, value[: len(value) // 2], [value], value.upper()))
    else:
        inside[key] = random.choice(([value], {"a": value}, str(value)))


def _hostile(random: Random, value: Tree) -> Tree:
    draw = random.random()
    if draw < 0.4:
        return random.choice(HOSTILE_NUMBERS if isinstance(value, int | float) else HOSTILE_TEXTS)
    if draw < 0.6:
        return random.choice(HOSTILE_TEXTS if isinstance(value, int | float) else HOSTILE_NUMBERS)
    if draw < 0.7:
        return random.choice((None, True, False))
    if draw < 0.95:
        return random.choice(([], {}, [None], [[]], {"": ""}, {"a": {}}, [1, "a"]))
    deep: Tree = 1
    for _ in range(random.choice((20, 400))):
        deep = [deep] if random.random() < 0.5 else {"a": deep}
    return deep


def _span(random: Random, content: bytes) -> tuple[int, int]:
    start = random.randrange(len(content) + 1)
    return start, min(len(content), start + int(random.expovariate(1 / 20)))


def _flip(random: Random, content: bytes, _: bytes) -> bytes:
    if not content:
        return b"\x00"
    found, at = bytearray(content), random.randrange(len(content))
    found[at] ^= 1 << random.randrange(8)
    return bytes(found)


def _drop(random: Random, content: bytes, _: bytes) -> bytes:
    start, end = _span(random, content)
    return content[:start] + content[end:]


def _insert(random: Random, content: bytes, _: bytes) -> bytes:
    at = random.randrange(len(content) + 1)
    return content[:at] + random.choice((*HOSTILE_BYTES, random.randbytes(3))) + content[at:]


def _repeat(random: Random, content: bytes, _: bytes) -> bytes:
    start, end = _span(random, content)
    return content[:start] + content[start:end] * random.choice((2, 3, 100)) + content[end:]


def _cut(random: Random, content: bytes, _: bytes) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def _splice(random: Random, content: bytes, other: bytes) -> bytes:
    return content[: random.randrange(len(content) + 1)] + other[random.randrange(len(other) + 1) :]


def _replace_number(random: Random, content: bytes, _: bytes) -> bytes:
    return _replace(random, content, rb"\d+", [str(number).encode() for number in HOSTILE_NUMBERS])


def _replace_word(random: Random, content: bytes, _: bytes) -> bytes:
    hostile = [text.encode(errors="surrogatepass") for text in HOSTILE_TEXTS]
    return _replace(random, content, WORD, hostile + re.findall(WORD, content)[:50])


def _replace(random: Random, content: bytes, pattern: bytes, texts: list[bytes]) -> bytes:
    found = list(re.finditer(pattern, content))
    if not found:
        return content
    one = random.choice(found)
    return content[: one.start()] + random.choice(texts) + content[one.end() :]


def _lines(random: Random, content: bytes, other: bytes) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    draw, at = random.random(), random.randrange(len(lines))
    if draw < 0.25:
        del lines[at]
    elif draw < 0.45:
        lines[at:at] = [lines[at]] * random.choice((1, 2, 200))
    elif draw < 0.65:
        lines.insert(at, lines.pop(random.randrange(len(lines))))
    elif draw < 0.9:
        lines.insert(at, random.choice(other.splitlines(keepends=True) or [b"\n"]))
    else:
        random.shuffle(lines)
    return b"".join(lines)


def _encode(random: Random, content: bytes, _: bytes) -> bytes:
    text = content.decode(errors="replace")
    return random.choice(
        (
            lambda: text.encode("utf-16", errors="replace"),
            lambda: text.encode("utf-32", errors="replace"),
            lambda: text.encode("latin-1", errors="replace"),
            lambda: b"\xef\xbb\xbf" + content,
            lambda: text.replace("\n", "\r\n").encode(),
            lambda: gzip.compress(content, mtime=0),
            lambda: gzip.compress(content, mtime=0)[: -random.randrange(1, 20)],
            lambda: bz2.compress(content),
            lambda: lzma.compress(content),
        )
    )()


BY_BYTES = (
    *(_flip, _drop, _insert, _repeat, _cut, _splice, _encode),
    *(_replace_number, _replace_number, _replace_word, _replace_word, _lines, _lines, _lines),
)
