"""Score recorded answers by the published checker of BFCL: `score_bfcl.py FOLDER` (an unpacked wheel of bfcl-eval)."""

import importlib
import json
import sys
import types
from collections import defaultdict
from typing import Any


def _open(function: dict[str, Any]) -> dict[str, Any]:
    """Turn what is kept of a function back into its description."""
    types_of = {
        name: {"type": one, "items": {"type": inner}} if inner else {"type": one}
        for name, (one, inner) in function["types"].items()
    }
    return {"name": function["name"], "parameters": {"properties": types_of, "required": function["required"]}}


def main(folder: str) -> None:
    """Score each line; the table of models, which imports every provider, is not needed and stands in empty."""
    sys.path.insert(0, folder)
    models = types.ModuleType("bfcl_eval.constants.model_config")
    vars(models)["MODEL_CONFIG_MAPPING"] = defaultdict(lambda: types.SimpleNamespace(underscore_to_dot=False))
    sys.modules["bfcl_eval.constants.model_config"] = models
    checker = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
    language = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON
    decode = importlib.import_module("bfcl_eval.model_handler.utils").default_decode_ast_prompting
    for line in sys.stdin:
        row = json.loads(line)
        given = json.loads(row["expected"])
        functions = [_open(one) for one in given["functions"]]
        try:
            calls = decode(row["answer"])
            found = checker.ast_checker(functions, calls, given["answers"], language, given["kind"], "any")
            print(float(found["valid"]))
        except Exception:  # noqa: BLE001 - the published program counts what it cannot read or check as wrong
            print(0.0)


if __name__ == "__main__":
    main(sys.argv[1])
