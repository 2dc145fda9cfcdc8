"""Mutants of a module: its syntax tree with one small thing wrong, one after the other.

`mutants(tree)` changes the tree in place while a mutant is looked at and puts it right afterwards. What is changed, and
into what, is one table (`CHANGES`): conditions and operands that are dropped or negated, bounds that are off by one,
first for last and oldest for newest, defaults and constants of a kind exchanged, statements and rows of tables left
out, and a row that has a value of the row before.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise, takewhile

KINDS = (
    ("ALL", "EXACTLY", "NODES"),
    ("CLIENT_LOCAL", "MIN_MASTERS", "RANDOM"),
    ("WHEN_SYNCED", "ALWAYS"),
    ("MANUAL", "AUTOMATIC"),
    ("NO", "YES", "GAVE_UP"),
    ("min", "max"),
    ("any", "all"),
    ("all", "exactly", "nodes"),
    ("manual", "automatic"),
    ("when-synced", "always"),
)
"""Names, attributes and texts of a kind: each is exchanged for the next."""

OPPOSITES = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
}  # fmt: skip
OFF_BY_ONE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
UNORDERED = {"any", "all", "len", "set", "frozenset", "dict", "sorted", "isdisjoint"}
"""Calls for which the order of what they are given means nothing."""

Node = ast.AST


WITH_RULES = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
"""Statements of a module that say how something is decided."""

LEFT_OUT = {"annotation", "returns", "decorator_list", "type_params", "bases"}
"""Parts of a module that decide nothing."""

NAMES_ONLY = {"NO_NODE", "NOTHING"}.union(*KINDS)
"""Constants whose number says nothing: it only tells them apart."""

CONTEXT = 8
"""At least so many characters before and after a change are shown."""

LONGEST = 60
"""Longer texts are shown by their beginning and their end."""


def mutants(tree: ast.Module) -> Iterator[str]:
    """Yield each mutant once, by its unique description; the tree is that mutant until the next is asked for."""
    for statement in tree.body:
        if isinstance(statement, WITH_RULES) and not _says_nothing(statement):
            name, was, result = _name(statement), _text(statement), Counter()
            for _ in _inside(statement):
                difference = _difference(was, _text(statement))
                result[difference] += 1
                again = f" ({result[difference]})" if result[difference] > 1 else ""
                yield f"{name}: {difference}{again}"


def _name(statement: ast.stmt) -> str:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return statement.name
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    return ast.unparse(target)


def _text(node: Node) -> str:
    """Return a node's source in one line."""
    return " ".join(ast.unparse(ast.fix_missing_locations(node)).split())


def _difference(was: str, now: str) -> str:
    """Return what is changed between two texts, with a little of its context."""
    before = _same(was, now)
    after = _same(was[before:][::-1], now[before:][::-1])
    start = was.rfind(" ", 0, max(0, before - CONTEXT)) + 1
    left = was[::-1].rfind(" ", 0, max(0, after - CONTEXT)) + 1
    return f"{_short(was[start : len(was) - left])} => {_short(now[start : len(now) - left])}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 20]}…{text[-19:]}"


def _same(a: str, b: str) -> int:
    """Return the length of two texts' common beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _inside(node: Node) -> Iterator[None]:
    """Stop at each mutant of what is below a node."""
    for field, value in ast.iter_fields(node):
        if field in LEFT_OUT or (field == "keywords" and isinstance(node, ast.ClassDef)):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, Node) or _says_nothing(child):
                continue
            for other in _others(node, field, child):
                _put(node, field, index, other)
                yield
                _put(node, field, index, child)
            yield from _inside(child)


def _put(node: Node, field: str, index: int | None, child: Node) -> None:
    if index is None:
        setattr(node, field, child)
    else:
        getattr(node, field)[index] = child


def _says_nothing(node: Node) -> bool:
    """A docstring, the name of a type, a number that only tells a name from others, or a check that texts that were
    written to be equally long are."""
    match node:
        case ast.keyword(arg="strict"):
            return True
        case ast.Expr(value=ast.Constant()) | ast.Assign(value=ast.Subscript()):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in NAMES_ONLY
    return False


def _others(parent: Node, field: str, node: Node) -> Iterator[Node]:
    """Return what could replace a node."""
    for kind, change in CHANGES:
        if isinstance(node, kind):
            yield from change(node)
    if isinstance(node, ast.stmt) and field == "body" and not isinstance(parent, ast.ClassDef):
        yield from () if isinstance(parent, ast.FunctionDef) and _returns_none(node) else (ast.Pass(),)
    if field in ("test", "ifs") and not isinstance(node, ast.Compare) and not _is_not(node):
        yield ast.UnaryOp(ast.Not(), node)
    if isinstance(node, ast.GeneratorExp | ast.ListComp) and not _is_unordered_call(parent):
        yield from _reversed_comprehension(node)


def _returns_none(node: Node) -> bool:
    """Return True for a return at a function's end that returns None."""
    return isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) and node.value.value is None


def _is_not(node: Node) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _is_unordered_call(node: Node) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in UNORDERED
    return False


def _with(node: Node, **fields: object) -> Node:
    """Return a copy of a node, one level deep, with other fields."""
    return type(node)(**(dict(ast.iter_fields(node)) | fields))


def _without_each(node: Node, *fields: str) -> Iterator[Node]:
    """Yield the node with one element less, at the same place in each of these fields."""
    for index in range(len(getattr(node, fields[0]))):
        yield _with(node, **{field: _without(getattr(node, field), index) for field in fields})


def _without(elements: list, index: int) -> list:
    return elements[:index] + elements[index + 1 :]


def _operands(node: ast.BoolOp) -> Iterator[Node]:
    for index in range(len(node.values)):
        left = _without(node.values, index)
        yield left[0] if len(left) == 1 else _with(node, values=left)


def _comparisons(node: ast.Compare) -> Iterator[Node]:
    for index, op in enumerate(node.ops):
        for table in (OPPOSITES, OFF_BY_ONE):
            if type(op) in table:
                yield _with(node, ops=[*node.ops[:index], table[type(op)](), *node.ops[index + 1 :]])


def _not(node: ast.UnaryOp) -> Iterator[Node]:
    if isinstance(node.op, ast.Not):
        yield node.operand


def _arithmetic(node: ast.BinOp) -> Iterator[Node]:
    if isinstance(node.op, ast.Add):
        sequence = any(isinstance(part, ast.List | ast.ListComp | ast.JoinedStr) for part in ast.walk(node))
        yield _with(node, left=node.right, right=node.left) if sequence else _with(node, op=ast.Sub())
    elif isinstance(node.op, ast.BitOr | ast.BitAnd):
        yield from (node.left, node.right)
    elif isinstance(node.op, ast.Sub | ast.FloorDiv):
        yield node.left


def _index(node: ast.Subscript) -> Iterator[Node]:
    match node.slice:
        case ast.Constant(value=0):
            yield _with(node, slice=ast.Constant(-1))
        case ast.UnaryOp(operand=ast.Constant(value=1)):
            yield _with(node, slice=ast.Constant(0))
        case ast.Name() as name if isinstance(node.ctx, ast.Load):
            yield _with(node, slice=ast.BinOp(ast.Constant(-1), ast.Sub(), name))
        case ast.Slice(lower=None, upper=upper):
            yield _with(node, slice=ast.Slice(lower=upper))


def _reversed(iterable: ast.expr) -> ast.expr:
    return ast.parse(f"reversed(list({ast.unparse(iterable)}))", mode="eval").body


def _reversed_loop(node: ast.For) -> Iterator[Node]:
    yield _with(node, iter=_reversed(node.iter))


def _reversed_comprehension(node: ast.GeneratorExp | ast.ListComp) -> Iterator[Node]:
    first = node.generators[0]
    yield _with(node, generators=[_with(first, iter=_reversed(first.iter)), *node.generators[1:]])


def _call(node: ast.Call) -> Iterator[Node]:
    name = node.func.id if isinstance(node.func, ast.Name) else None
    if name == "sorted":
        yield node.args[0]
    for keyword in node.keywords:
        if keyword.arg == "key":
            yield _with(node, keywords=[other for other in node.keywords if other is not keyword])


def _rows(node: ast.Dict) -> Iterator[Node]:
    """Yield the table with a row less, and with a value of the row before."""
    yield from _without_each(node, "keys", "values")
    calls = [value for value in node.values if isinstance(value, ast.Call)]
    for before, row in pairwise(calls):
        for changed in _as_before(before, row):
            yield _with(node, values=[changed if value is row else value for value in node.values])


def _as_before(before: ast.Call, row: ast.Call) -> Iterator[Node]:
    """Return a row with a value of the row before it, or without it if that has none."""
    said = {keyword.arg: keyword for keyword in before.keywords}
    for index, keyword in enumerate(row.keywords):
        other = [said[keyword.arg]] if keyword.arg in said else []
        if not other or ast.dump(other[0]) != ast.dump(keyword):
            yield _with(row, keywords=[*row.keywords[:index], *other, *row.keywords[index + 1 :]])


def _constant(node: ast.Constant) -> Iterator[Node]:
    match node.value:
        case bool(value):
            yield ast.Constant(not value)
        case int(value):
            yield ast.Constant(value + 1)
        case bytes(value) if value.isalpha():
            yield from (ast.Constant(value[:index] + value[index + 1 :]) for index in range(len(value)))
        case str(value):
            yield from (ast.Constant(other) for other in _next_of_kind(value))


def _words(node: ast.Call) -> Iterator[Node]:
    """Yield a list written as a text of words, with one word less."""
    match node:
        case ast.Call(func=ast.Name(id="_settings"), args=[ast.Constant(value=text)]):
            words = text.split()
            yield from (_with(node, args=[ast.Constant(" ".join(_without(words, at)))]) for at in range(len(words)))


def _next_of_kind(name: str) -> Iterator[str]:
    for kind in KINDS:
        if name in kind:
            yield kind[(kind.index(name) + 1) % len(kind)]


def _name_of_kind(node: ast.Name) -> Iterator[Node]:
    if isinstance(node.ctx, ast.Load):
        yield from (_with(node, id=name) for name in _next_of_kind(node.id))


def _loaded(node: ast.List | ast.Set | ast.Tuple) -> Iterator[Node]:
    if isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        yield from _without_each(node, "elts")


CHANGES: tuple[tuple[type, Callable[..., Iterator[Node]]], ...] = (
    (ast.BoolOp, _operands),
    (ast.Compare, _comparisons),
    (ast.UnaryOp, _not),
    (ast.BinOp, _arithmetic),
    (ast.Subscript, _index),
    (ast.For, _reversed_loop),
    (ast.comprehension, lambda node: _without_each(node, "ifs")),
    (ast.Call, _call),
    (ast.Call, _words),
    (ast.Dict, _rows),
    (ast.List | ast.Set | ast.Tuple, _loaded),
    (ast.Match, lambda node: _without_each(node, "cases")),
    (ast.match_case, lambda node: iter([_with(node, guard=None)] if node.guard else [])),
    (ast.Constant, _constant),
    (ast.Name, _name_of_kind),
    (ast.Attribute, lambda node: (_with(node, attr=name) for name in _next_of_kind(node.attr))),
)
"""What is changed, by the kind of node, and into what."""
