"""What the functions call of AWS, read from their source: the calls that are reachable from a handler, by name.

`self.x()` is looked up in the class and its bases, a bare name in the module and its imports, and any other method in
every class that the handler's modules hold. So two methods of one name count as called together: too much rather than
too little.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import botocore.session
from botocore import xform_name

from stacks.dependencies import SERVICES

CLIENTS = frozenset({"_client", "_s3", "s3", "_sns", "_lambda"})
"""What a boto3 client is called wherever one is used."""

KINDS = ("Put", "Update", "Delete", "ConditionCheck")
"""What a transaction may consist of."""


@dataclass(frozen=True)
class Method:
    """A function of a module, or under no name what a module runs when it is imported; `owner` is the class, if any."""

    module: str
    owner: str
    name: str
    node: ast.AST


@dataclass(frozen=True)
class Call:
    """One call of a client: `operation` as boto3 spells it, `arguments` as they are written."""

    module: str
    operation: str
    arguments: str


class Source:
    """The package `functions/` as syntax trees, by module name."""

    def __init__(self, package: Path) -> None:
        paths = sorted(package.rglob("*.py"))
        self.modules = {_name(path, package): ast.parse(path.read_text(), str(path)) for path in paths}

    def loaded_by(self, module: str) -> set[str]:
        """The modules of the package that importing this one imports."""
        seen: set[str] = set()
        waiting = [module]
        while waiting:
            if (current := waiting.pop()) not in seen:
                seen.add(current)
                imported = (each for each in ast.walk(self.modules[current]) if isinstance(each, ast.ImportFrom))
                waiting += [each.module for each in imported if each.module in self.modules]
        return seen

    def unknown_calls(self) -> list[str]:
        """Calls named like an operation of AWS that are neither on a client of a known name nor methods of ours."""
        ours = {each.name for tree in self.modules.values() for each in ast.walk(tree) if isinstance(each, _FUNCTION)}
        return [
            f"{module}:{call.node.lineno} {ast.unparse(call.node.func)}"
            for module, tree in self.modules.items()
            for call in method_calls(tree)
            if call.name in operations() - ours and call.receiver not in CLIENTS
        ]


class Reach:
    """What one handler's module can run."""

    def __init__(self, source: Source, module: str) -> None:
        self._trees = {name: source.modules[name] for name in source.loaded_by(module)}
        self._methods = [each for name, tree in self._trees.items() for each in _methods(name, tree)]
        self._bases = {
            each.name: [base.id for base in each.bases if isinstance(base, ast.Name)]
            for tree in self._trees.values()
            for each in tree.body
            if isinstance(each, ast.ClassDef)
        }
        self._module = module

    @cached_property
    def methods(self) -> list[Method]:
        seen: list[Method] = []
        waiting = [each for each in self._methods if self._is_root(each)]
        while waiting:
            if (method := waiting.pop()) not in seen:
                seen.append(method)
                waiting += self._used_by(method)
        return seen

    def calls(self) -> set[Call]:
        return {
            Call(method.module, call.name, ", ".join(map(ast.unparse, [*call.node.args, *call.node.keywords])))
            for method in self.methods
            for call in method_calls(method.node)
            if call.receiver in CLIENTS
        }

    def transaction_kinds(self) -> dict[str, set[str]]:
        """Put, Update, Delete and ConditionCheck as keys of what may become part of a transaction, by module."""
        found: dict[str, set[str]] = {}
        for method in self.methods:
            keys = (key for each in ast.walk(method.node) if isinstance(each, ast.Dict) for key in each.keys)
            kinds = {key.value for key in keys if isinstance(key, ast.Constant) and key.value in KINDS}
            if kinds:
                found.setdefault(method.module, set()).update(kinds)
        return found

    def arguments_named(self, name: str) -> set[str]:
        """What is given to an argument of this name, as it is written."""
        return {
            ast.unparse(keyword.value)
            for method in self.methods
            for keyword in ast.walk(method.node)
            if isinstance(keyword, ast.keyword) and keyword.arg == name
        }

    def _is_root(self, method: Method) -> bool:
        if not method.owner:
            return method.module == self._module and method.name in ("", "handler")
        # Python calls the first, a library the second: methods of a class that inherits from one of its own.
        foreign = any(base not in self._bases for base in self._bases[method.owner])
        return method.name.startswith("__") or (foreign and method.name.startswith("_"))

    def _used_by(self, method: Method) -> Iterator[Method]:
        for each in ast.walk(method.node):
            match each:
                case ast.Attribute(value=ast.Name(id="self"), attr=name) if self._family(method.owner, name):
                    yield from self._family(method.owner, name)
                case ast.Attribute(attr=name):
                    yield from (found for found in self._methods if found.owner and found.name == name)
                case ast.Name(id=name):
                    yield from (found for found in self._methods if not found.owner and found.name == name)

    def _family(self, owner: str, name: str) -> list[Method]:
        found = [each for each in self._methods if each.owner == owner and each.name == name]
        for base in self._bases.get(owner, []):
            found += self._family(base, name)
        return found


_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def operations() -> frozenset[str]:
    """Every operation of the services the functions use, as boto3 spells it."""
    loader = botocore.session.Session().get_component("data_loader")
    models = (loader.load_service_model(service, "service-2") for service in SERVICES)
    return frozenset(xform_name(name) for model in models for name in model["operations"])


def _name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def _methods(module: str, tree: ast.Module) -> Iterator[Method]:
    at_import: list[ast.stmt] = []
    for each in tree.body:
        if isinstance(each, _FUNCTION):
            yield Method(module, "", each.name, each)
        elif isinstance(each, ast.ClassDef):
            functions = [found for found in each.body if isinstance(found, _FUNCTION)]
            yield from (Method(module, each.name, found.name, found) for found in functions)
        else:
            at_import.append(each)
    yield Method(module, "", "", ast.Module(at_import, []))


@dataclass(frozen=True)
class MethodCall:
    """A call `receiver.name(…)`, of the receiver the last name: `_s3` for `self._s3.get_object(…)`."""

    name: str
    receiver: str
    node: ast.Call


def method_calls(tree: ast.AST) -> Iterator[MethodCall]:
    for each in ast.walk(tree):
        match each:
            case ast.Call(func=ast.Attribute(attr=name, value=value)):
                yield MethodCall(name, _last_name(value), each)


def _last_name(value: ast.expr) -> str:
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Call(func=ast.Name(id=name)):
            return name
    return ""
