"""The crash points of `functions/`, read from its source: every `crossing`, and every outside call that has none.

Plumbing that many operations share is given their names: what it is called with is then a crossing of the caller.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import functions
from functions.effects.states import Event
from tests.calls import CLIENTS, Source, method_calls

EVENTS = frozenset({"f'effects.{event.name.lower()}'", "f'effects.{move.event.name.lower()}'"})
"""How the store names the crossing of a move: by its event."""


@dataclass(frozen=True)
class Named:
    """A crossing under a name of its own, and where."""

    name: str
    module: str
    line: int


@dataclass(frozen=True)
class Found:
    """`named` holds each crossing with a name of its own, `reached` each single point, `bare` each outside call that
    stands in no crossing, `odd` each crossing whose name could not be read."""

    named: Sequence[Named]
    reached: frozenset[str]
    bare: Sequence[str]
    odd: Sequence[str]

    @property
    def names(self) -> frozenset[str]:
        return frozenset([each.name for each in self.named] + [f"effects.{event.name.lower()}" for event in Event])

    @property
    def points(self) -> frozenset[str]:
        return self.reached | {f"{name}.{side}" for name in self.names for side in ("before", "after")}


@cache
def found() -> Found:
    """Of the package as it stands."""
    return read(Source(Path(functions.__file__).parent))


def read(source: Source) -> Found:
    """Of any package."""
    named: list[Named] = []
    bare: list[str] = []
    odd: list[str] = []
    reached: set[str] = set()
    for module, tree in source.modules.items():
        plumbing = _plumbing(source, module)
        for function, call, inside in _calls(tree):
            at = f"{module}:{call.lineno} {ast.unparse(call.func)}"
            if _is_outside(call) and not inside:
                bare.append(at)
            match call:
                case ast.Call(func=ast.Name(id="reach"), args=[ast.Constant(value=str(point))]):
                    reached.add(point)
                case ast.Call(func=ast.Name(id="crossing") | ast.Attribute(attr="crossing"), args=[name]):
                    _note(name, function, Named("", module, call.lineno), named, odd)
                case ast.Call(func=ast.Attribute(attr=method), args=[name, *_]) if method in plumbing:
                    _note(name, function, Named("", module, call.lineno), named, odd)
    return Found(named, frozenset(reached), bare, odd)


def _note(name: ast.expr, function: ast.AST | None, at: Named, named: list[Named], odd: list[str]) -> None:
    match name:
        case ast.Constant(value=str(text)):
            named.append(Named(text, at.module, at.line))
        case ast.Name(id=argument) if argument == _first_argument(function):
            return
        case ast.JoinedStr() if ast.unparse(name) in EVENTS:
            return
        case _:
            odd.append(f"{at.module}:{at.line} {ast.unparse(name)}")


def _plumbing(source: Source, module: str) -> frozenset[str]:
    """Methods of the module's folder that take the name of a crossing first and hand it on."""
    folder = module.rpartition(".")[0]
    trees = [tree for name, tree in source.modules.items() if name.rpartition(".")[0] == folder]
    known = frozenset({"crossing"})
    while True:
        handing_on = {
            function.name
            for tree in trees
            for function, call, _ in _calls(tree)
            if isinstance(function, ast.FunctionDef) and _last(call.func) in known and call.args
            if isinstance(first := call.args[0], ast.Name) and first.id == _first_argument(function)
        }
        if handing_on <= known:
            return known - {"crossing"}
        known |= handing_on


def _calls(tree: ast.AST) -> Iterator[tuple[ast.AST | None, ast.Call, bool]]:
    """Every call, with the function it stands in, and whether a crossing stands around it."""

    def walk(node: ast.AST, function: ast.AST | None, inside: bool) -> Iterator[tuple[ast.AST | None, ast.Call, bool]]:
        match node:
            case ast.With(items=items, body=body):
                for item in items:
                    yield from walk(item, function, inside)
                crossed = inside or any(_is_crossing(item.context_expr) for item in items)
                for each in body:
                    yield from walk(each, function, crossed)
                return
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                # It runs when it is called, not where it stands.
                function, inside = node, False
            case ast.Call():
                yield function, node, inside
        for child in ast.iter_child_nodes(node):
            yield from walk(child, function, inside)

    yield from walk(tree, None, inside=False)


def _is_crossing(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and _last(expression.func) == "crossing"


def _is_outside(call: ast.Call) -> bool:
    """A call of a client of AWS, a read of an object's body, or the model's request."""
    match call:
        case ast.Call(func=ast.Name(id="ask")) | ast.Call(func=ast.Name(id="next"), args=[ast.Name(id="body"), *_]):
            return True
    return any(each.receiver in CLIENTS for each in method_calls(call) if each.node is call)


def _last(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _first_argument(function: ast.AST | None) -> str:
    if not isinstance(function, ast.FunctionDef):
        return ""
    names = [argument.arg for argument in function.args.args if argument.arg != "self"]
    return names[0] if names else ""
