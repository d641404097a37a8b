"""Score answers by the published program of BFCL: `serve.py FOLDER`.

`[ANSWER, EXPECTED]` a line in, a score a line out. What it imports to ask models is not needed and stands in empty.
"""

import ast
import importlib
import json
import operator
import sys
import types
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

_UNUSED = (
    *("utils", "constants.model_config", "eval_checker.ast_eval.type_convertor.java_type_converter"),
    *("eval_checker.ast_eval.type_convertor.js_type_converter", "model_handler.parser.java_parser"),
    *("model_handler.parser.js_parser", "model_handler.parser.json_parser", "model_handler.parser.xml_parser"),
)
"""Modules of BFCL for other languages and formats, and for models."""

_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    getattr(ast, name): getattr(operator, name.lower()) for name in ("Add", "Sub", "FloorDiv", "Mod", "Pow")
} | {ast.Mult: operator.mul, ast.Div: operator.truediv}
_LARGEST = 1_000


def _hollow(folder: str, *names: str) -> None:
    """Let packages be found without running what they import."""
    for name in names:
        package = types.ModuleType(name)
        package.__path__ = [f"{folder}/{name.replace('.', '/')}"]
        sys.modules[name] = package


def _empty(*names: str) -> None:
    """Let modules that are not needed stand in empty: whatever is imported of one is a class that does nothing."""
    for name in names:
        sys.modules[name] = module = types.ModuleType(name)
        vars(module)["__getattr__"] = _anything


def _anything(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    return object


class _Bfcl:
    """Answers that are calls in Python; arithmetic of small constants is worked out, and nothing is evaluated."""

    def __init__(self, folder: str) -> None:
        _hollow(folder, "bfcl_eval", "bfcl_eval.model_handler", "bfcl_eval.eval_checker")
        _empty(*(f"bfcl_eval.{name}" for name in _UNUSED), "tenacity")
        models = defaultdict[str, object](lambda: types.SimpleNamespace(underscore_to_dot=False))
        vars(sys.modules["bfcl_eval.constants.model_config"])["MODEL_CONFIG_MAPPING"] = models
        reader = importlib.import_module("bfcl_eval.model_handler.utils")
        vars(reader)["eval"] = lambda text: _worked_out(ast.parse(text, mode="eval").body)
        self._read = reader.default_decode_ast_prompting
        self._check = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker").ast_checker
        self._language = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON

    def score(self, answer: str, expected: str) -> float:
        given = json.loads(expected)
        calls = self._read(answer)
        found = self._check(given["functions"], calls, given["answers"], self._language, given["kind"], "any")
        return float(found["valid"])


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
            if isinstance(sign, ast.Pow | ast.Mult) and not (abs(one) <= _LARGEST and abs(other) <= _LARGEST):
                raise ValueError("expected a small number")
            return _OPERATORS[type(sign)](one, other)
        case _:
            raise ValueError("expected constants")


def main(folder: str) -> None:
    """Answer until stdin ends."""
    sys.path.insert(0, folder)
    program = _Bfcl(folder)
    for line in sys.stdin:
        try:
            score = program.score(*json.loads(line))
        except Exception:  # noqa: BLE001 - answers that the program cannot read are the target's
            score = 0.0
        print(score, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
