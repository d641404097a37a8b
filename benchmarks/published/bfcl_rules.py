"""The rules of BFCL v4 for calls in Python: how an answer is read, and when a call is right.

They are those of the published checker, with its leniency (case, spaces and some punctuation of texts, a variable in
place of a value). Arithmetic in an answer is worked out here for constants only; the published checker evaluates it.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

__all__ = ["Call", "calls_are_right", "read_calls"]

Call = tuple[str, dict[str | None, Any]]
"""Name and arguments."""

_TYPES: Final[Mapping[str, type[Any]]] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
_NESTED: Final = frozenset({"array", "tuple"})
_IGNORED: Final = re.compile(r"[ ,./\-_*^]")
_LARGEST: Final = 1_000
_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def read_calls(answer: str) -> list[Call] | None:
    """Read an answer as a list of calls; None where it is none."""
    text = answer.strip("`\n ")
    text = text if text.startswith("[") else f"[{text}"
    text = text if text.endswith("]") else f"{text}]"
    try:
        body = ast.parse(text.strip().strip("'"), mode="eval").body
        elements = [body] if isinstance(body, ast.Call) else getattr(body, "elts", None)
        if elements is None or not all(isinstance(one, ast.Call) for one in elements):
            return None
        return [_call(one) for one in elements]
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        return None


def _call(node: ast.Call) -> Call:
    parts, at = [], node.func
    while isinstance(at, ast.Attribute):
        parts.append(at.attr)
        at = at.value
    if isinstance(at, ast.Name):
        parts.append(at.id)
    return ".".join(reversed(parts)), {each.arg: _value(each.value) for each in node.keywords}


def _value(node: ast.expr | None) -> Any:  # noqa: ANN401 - whatever an answer may hold
    """Read the value of an argument."""
    if isinstance(node, ast.List | ast.Tuple):
        values = [_value(one) for one in node.elts]
        return values if isinstance(node, ast.List) else tuple(values)
    if isinstance(node, ast.Dict):
        return {_value(key): _value(value) for key, value in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.BinOp):
        return _worked_out(node)
    if isinstance(node, ast.Call) and node.keywords:
        name, arguments = _call(node)
        return {name: arguments}
    return _single(node)


def _single(node: ast.expr | None) -> object:
    match node:
        case ast.Constant(value=value):
            return "..." if value is Ellipsis else value
        case ast.UnaryOp(operand=ast.Constant(value=int() | float() | complex() as value)):
            return -value  # whatever the operator, as published
        case ast.Name(id=name):
            return name
        case ast.Call():
            return ast.unparse(node)
        case ast.Subscript(value=inner, slice=index):
            return f"{ast.unparse(inner)}[{ast.unparse(index)}]"
        case _:
            raise ValueError(f"expected a value, found {type(node).__name__}")


def _worked_out(node: ast.expr) -> Any:  # noqa: ANN401 - a number, a text or a list
    """Work out arithmetic of constants; what is too large to be meant is refused."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=elements):
            return [_worked_out(one) for one in elements]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_worked_out(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            one, other = _worked_out(left), _worked_out(right)
            if isinstance(sign, ast.Pow | ast.Mult) and not _is_small(one, other):
                raise ValueError("expected a small number")
            return _OPERATORS[type(sign)](one, other)
        case _:
            raise ValueError("expected constants")


def _is_small(one: object, other: object) -> bool:
    both = isinstance(one, int | float) and isinstance(other, int | float)
    return both and abs(one) <= _LARGEST and abs(other) <= _LARGEST  # type: ignore[arg-type]  # `both` says so


def calls_are_right(kind: str, functions: Sequence[Mapping[str, Any]], calls: Sequence[Call], answers: Any) -> bool:  # noqa: ANN401 - JSON values
    """Return whether calls are the expected ones; in the kinds with `parallel` in any order."""
    if len(calls) != len(answers):
        return False
    try:
        if "parallel" in kind:
            return _any_order(functions, calls, answers)
        name = next(iter(answers[0]))
        function = _function(functions, name) if "multiple" in kind else functions[0]
        return _is_right(function, calls[0], answers[0])
    except (KeyError, TypeError, AttributeError, IndexError):
        return False  # where the published checker ends with an error


def _any_order(functions: Sequence[Mapping[str, Any]], calls: Sequence[Call], answers: Sequence[Any]) -> bool:
    left = list(calls)
    for answer in answers:
        function = _function(functions, next(iter(answer)))
        found = next((at for at, call in enumerate(left) if _is_right(function, call, answer)), None)
        if found is None:
            return False
        del left[found]
    return True


def _function(functions: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next(one for one in functions if one["name"] == name)


def _is_right(function: Mapping[str, Any], call: Call, answer: Mapping[str, Any]) -> bool:
    name, arguments = call
    allowed: Mapping[str | None, list[Any]] = next(iter(answer.values()))
    types, required = function["types"], function["required"]
    if name != function["name"] or any(one not in arguments for one in required):
        return False
    for parameter, value in arguments.items():
        if parameter not in types or parameter not in allowed:
            return False
        if not _is_allowed(value, allowed[parameter], *types[parameter]):
            return False
    return all(one in arguments or "" in values for one, values in allowed.items())


def _is_allowed(value: Any, allowed: list[Any], described: str, inner: str | None) -> bool:  # noqa: ANN401 - JSON values
    """Check the type, then the value by the rules of its type."""
    wanted = _TYPES[described]
    nested = _TYPES[inner or ""] if described in _NESTED else None
    if described == "tuple" and isinstance(value, tuple):
        value = list(value)
    if described == "float" and type(value) is int:
        value = float(value)
    of_type, variable = _check_type(value, allowed, wanted, nested)
    if not of_type:
        return False
    if variable or wanted not in {dict, str, list}:
        return value in allowed
    if wanted is dict:
        return _dict_is_right(value, allowed)
    if wanted is str:
        return _plain(value) in [_plain(one) for one in allowed if isinstance(one, str)]
    if nested is dict:
        return any(_dicts_are_right(value, one) for one in allowed)
    return [_plain(one) for one in value] in [[_plain(part) for part in one] for one in allowed]


def _check_type(value: Any, allowed: Sequence[Any], wanted: type[Any], nested: type[Any] | None) -> tuple[bool, bool]:  # noqa: ANN401 - JSON values
    """Return whether the type is right, and whether the value stands for a variable."""
    given = next((type(one) for one in allowed if one != ""), None)
    variable = given is not None and given is not wanted
    if type(value) is not wanted:
        return given is not None and type(value) is given, True
    if nested is None:
        return True, variable
    lists = (one for one in allowed if isinstance(one, list))
    fits = len(allowed) > sum(isinstance(one, list) for one in allowed) or any(
        all(_check_type(part, one, nested, None)[0] for part in value) for one in lists
    )
    return fits, variable


def _dict_is_right(value: Mapping[str, Any], allowed: Sequence[Any]) -> bool:
    for one in allowed:
        if one == "":
            continue
        right = all(key in one and _plain(own) in [_plain(each) for each in one[key]] for key, own in value.items())
        if right and all(key in value or "" in values for key, values in one.items()):
            return True
    return False


def _dicts_are_right(value: Sequence[Any], allowed: Sequence[Any]) -> bool:
    return len(value) == len(allowed) and all(
        _dict_is_right(own, [one]) for own, one in zip(value, allowed, strict=True)
    )


def _plain(value: Any) -> Any:  # noqa: ANN401 - only texts are changed
    return _IGNORED.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value
