"""The metric math and the Metrics Insights queries that alarms are made of; what is not known is refused by name."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from local.alarms.datapoints import Series

Value = float | Series | tuple[Series, ...]
"""A number, a series, or an array of series."""


class ExpressionError(ValueError):
    """An expression that is not evaluated here; the message is a sentence."""


@dataclass(frozen=True)
class Query:
    """`SELECT statistic(name) FROM SCHEMA(namespace, dimension names)`; None: whatever the dimensions."""

    statistic: str
    namespace: str
    name: str
    dimension_names: frozenset[str] | None


_QUERY = re.compile(
    r"SELECT (?P<function>AVG|COUNT|MAX|MIN|SUM)\((?P<name>\w+)\) "
    r'FROM (?:"(?P<whole>[^"]+)"|SCHEMA\("(?P<namespace>[^"]+)"(?P<dimensions>(?:, *\w+)*)\))'
)
_STATISTICS = {"AVG": "Average", "COUNT": "SampleCount", "MAX": "Maximum", "MIN": "Minimum", "SUM": "Sum"}


def is_query(expression: str) -> bool:
    return expression.lstrip().upper().startswith("SELECT")


def parse_query(text: str) -> Query:
    """Raises ExpressionError, also for a filter or a grouping."""
    found = _QUERY.fullmatch(text.strip())
    if found is None:
        raise ExpressionError(f"The query {text!r} is more than the local cloud evaluates.")
    names = frozenset(filter(None, re.split(r", *", found["dimensions"] or "")))
    return Query(
        _STATISTICS[found["function"]],
        found["whole"] or found["namespace"],
        found["name"],
        None if found["whole"] else names,
    )


@dataclass(frozen=True)
class Math:
    """An expression, and the ids of the series that it reads."""

    tree: ast.expr
    ids: frozenset[str]


def parse_math(text: str) -> Math:
    """Metric math reads as Python's expressions do. Raises ExpressionError for whatever `compute` does not know."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ExpressionError(f"The expression {text!r} cannot be read.") from None
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}
    math = Math(tree, frozenset(names))
    # Computed once over one empty period each: what is unknown is found now, not when the alarm should go off.
    compute(math, {name: [None] for name in names})
    return math


def compute(math: Math, series: Mapping[str, Series]) -> Series:
    """The series that an expression makes of others of one length. Raises ExpressionError."""
    return _one(math.tree, series)


def _one(tree: ast.expr, series: Mapping[str, Series]) -> Series:
    value = _compute(tree, series)
    if not isinstance(value, list):
        raise ExpressionError(f"The expression {ast.unparse(tree)!r} does not give one series.")
    return value


def _compute(tree: ast.expr, series: Mapping[str, Series]) -> Value:
    match tree:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name) if name in series:
            return series[name]
        case ast.List(elts=parts):
            return tuple(_one(part, series) for part in parts)
        case ast.BinOp(left=left, op=sign, right=right) | ast.Compare(left=left, ops=[sign], comparators=[right]):
            if type(sign) in _OPERATORS:
                return _each(_OPERATORS[type(sign)], _compute(left, series), _compute(right, series))
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in _FUNCTIONS:
            return _called(name, [_compute(part, series) for part in given])
    raise ExpressionError(f"The local cloud does not evaluate {ast.unparse(tree)!r} in a metric's expression.")


def _called(name: str, given: list[Value]) -> Value:
    try:
        return _FUNCTIONS[name](*given)
    except TypeError:
        raise ExpressionError(f"The local cloud does not evaluate {name} of these arguments.") from None


def _each(of_two: Callable[[float, float], float | None], left: Value, right: Value) -> Value:
    """Period by period; a number counts for every period, and what is missing on either side is missing."""
    if isinstance(left, tuple) or isinstance(right, tuple):
        raise ExpressionError("The local cloud does not evaluate operators on arrays of series.")
    if isinstance(left, list) or isinstance(right, list):
        length = len(left) if isinstance(left, list) else len(right)  # type: ignore[arg-type]  # one of them is
        pairs = zip(_spread(left, length), _spread(right, length), strict=True)
        return [None if a is None or b is None else of_two(a, b) for a, b in pairs]
    both = of_two(left, right)
    if both is None:
        raise ExpressionError("An expression divides by the number 0.")
    return both


def _spread(value: float | Series, length: int) -> Series:
    return value if isinstance(value, list) else [value] * length


def _fill(series: Value, filling: Value) -> Series:
    """A metric without any sample has nothing to fill: it stays away, as if it were not in the expression."""
    if not isinstance(series, list) or not isinstance(filling, float):
        raise TypeError
    return series if all(value is None for value in series) else [filling if v is None else v for v in series]


def _sum(array: Value) -> Series:
    """Over the array, period by period; what is missing is left out."""
    if not isinstance(array, tuple):
        raise TypeError
    present = [[value for value in values if value is not None] for values in zip(*array, strict=True)]
    return [sum(values) if values else None for values in present]


def _if(condition: Value, then: Value, otherwise: Value) -> Series:
    if not isinstance(condition, list) or isinstance(then, tuple) or isinstance(otherwise, tuple):
        raise TypeError
    length = len(condition)
    chosen = zip(condition, _spread(then, length), _spread(otherwise, length), strict=True)
    return [None if met is None else (yes if met else no) for met, yes, no in chosen]


def _divide(left: float, right: float) -> float | None:
    return left / right if right else None


_FUNCTIONS: Mapping[str, Callable[..., Value]] = {"FILL": _fill, "SUM": _sum, "IF": _if}
_OPERATORS: Mapping[type[ast.AST], Callable[[float, float], float | None]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.Gt: lambda left, right: float(left > right),
    ast.GtE: lambda left, right: float(left >= right),
    ast.Lt: lambda left, right: float(left < right),
    ast.LtE: lambda left, right: float(left <= right),
    ast.Eq: lambda left, right: float(left == right),
    ast.NotEq: lambda left, right: float(left != right),
}
