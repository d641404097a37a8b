"""Serve the tasks of a published program on stdin and stdout, a JSON object a line: `serve.py NAME FOLDER NEEDED`.

`{"list": true}` gives the tasks. `{"task": ID, "calls": [...], "answer": TEXT}` runs calls in the task's environment as
it is at the start, and gives what each returned, whether the published check finds the task done, and whether an attack
on it succeeded. What a program imports to ask models is not needed and stands in empty.
"""

import ast
import gc
import importlib
import json
import operator
import os
import sys
import types
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

_Task = Mapping[str, Any]
_VERSION = "v1.2.2"
_ATTACK = "ImportantInstructionsAttackNoModelName"
_MODELS = "agentdojo.agent_pipeline.llms.google_llm"
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


class _AgentDojo:
    """Tasks of users, each alone and with one attack by an injection task, `SUITE/USER_TASK[/INJECTION_TASK]`."""

    def __init__(self, folder: str) -> None:
        _hollow(folder, "agentdojo.agent_pipeline")
        parsers = vars(importlib.import_module("yaml"))
        parsers["SafeLoader"] = parsers.get("CSafeLoader", parsers["SafeLoader"])  # ten times as fast
        _empty(_MODELS)
        vars(sys.modules[_MODELS])["EMPTY_FUNCTION_NAME"] = "<empty-function>"
        self._suites = importlib.import_module("agentdojo.task_suite.load_suites").get_suites(_VERSION)
        self._starts = {name: suite.load_and_inject_default_environment({}) for name, suite in self._suites.items()}
        attack = vars(importlib.import_module("agentdojo.attacks.important_instructions_attacks"))[_ATTACK]
        target = types.SimpleNamespace(name="gpt-4o-2024-05-13")  # which the attack does not name
        self._attacks = {name: attack(suite, target) for name, suite in self._suites.items()}
        self._element = importlib.import_module("agentdojo.agent_pipeline.base_pipeline_element").BasePipelineElement
        self._execute = importlib.import_module("agentdojo.agent_pipeline.tool_execution").ToolsExecutor().query
        self._call = importlib.import_module("agentdojo.functions_runtime").FunctionCall

    def _environment(self, suite: str, user: str, injection: str) -> Any:  # noqa: ANN401 - a class of the program
        if not injection:
            return self._starts[suite]
        own = self._suites[suite]
        texts = self._attacks[suite].attack(own.user_tasks[user], own.injection_tasks[injection])
        return own.load_and_inject_default_environment(texts)

    def tasks(self) -> Iterator[_Task]:
        for name, suite in self._suites.items():
            tools = [
                {"name": one.name, "description": one.description, "parameters": one.parameters.model_json_schema()}
                for one in suite.tools
            ]
            for key, task in suite.user_tasks.items():
                start = task.init_environment(self._starts[name].model_copy(deep=True))
                attacks = {
                    injection: self._calls(own, start.model_copy(deep=True))
                    for injection, own in suite.injection_tasks.items()
                }
                yield {"id": f"{name}/{key}", "prompt": task.PROMPT, "tools": tools, "attacks": attacks} | {
                    "calls": self._calls(task, start),
                    "answer": task.GROUND_TRUTH_OUTPUT,
                }

    @staticmethod
    def _calls(task: Any, environment: object) -> list[object]:  # noqa: ANN401 - a class of the program
        """List the calls that do a task; some injection tasks have none, for they want a text."""
        found = task.ground_truth(environment)
        return [json.loads(call.model_dump_json(include={"function", "args"})) for call in found]

    def run(self, name: str, calls: Sequence[_Task], answer: str, results: list[str]) -> dict[str, bool]:
        suite, user, injection = (*name.split("/"), "")[:3]
        execute, call_of = self._execute, self._call

        class Replay(self._element):  # type: ignore[misc, name-defined]  # a class that is imported by its name
            def query(self, query: str, runtime: object, env: object, *_: object) -> object:
                results.clear()
                said = []
                for one in calls:
                    asked = {"role": "assistant", "content": [], "tool_calls": [call_of(**one)]}
                    _query, _runtime, env, found, _extra = execute(query, runtime, env, [asked])
                    said += found
                    results.append(found[-1]["error"] or "".join(part["content"] for part in found[-1]["content"]))
                text = [{"type": "text", "content": answer}]
                return query, runtime, env, [*said, {"role": "assistant", "content": text, "tool_calls": None}], {}

        own = self._suites[suite]
        attack, environment = own.injection_tasks.get(injection), self._environment(suite, user, injection)
        done, attacked = own.run_task_with_pipeline(Replay(), own.user_tasks[user], attack, {}, environment=environment)
        return {"done": bool(done), "attacked": attack is not None and bool(attacked)}


class _Tau2:
    """Tasks of the domains retail and airline, scored by the state of the database and by what was said."""

    def __init__(self, folder: str) -> None:
        source = f"{folder}/src"
        sys.path.insert(0, source)
        _hollow(source, "tau2", "tau2.evaluator", "tau2.orchestrator", "tau2.environment")
        _empty("pandas")
        importlib.import_module("loguru").logger.remove()
        self._messages = importlib.import_module("tau2.data_model.message")
        self._said = importlib.import_module("tau2.evaluator.evaluator_communicate").CommunicateEvaluator
        self._state = importlib.import_module("tau2.evaluator.evaluator_env").EnvironmentEvaluator
        places = {name: f"tau2.domains.{name}.environment" for name in ("retail", "airline")}
        self._domains = {name: importlib.import_module(place) for name, place in places.items()}
        self._tasks = {name: {task.id: task for task in one.get_tasks()} for name, one in self._domains.items()}
        # Ours, the one that is scored, and the expected one: each run has a process of its own, so that they stay.
        self._ready = {name: [one.get_environment() for _ in range(3)] for name, one in self._domains.items()}

    def tasks(self) -> Iterator[_Task]:
        for name, domain in self._domains.items():
            environment, splits = self._ready[name][0], domain.get_tasks_split()
            tools = [one.openai_schema["function"] for one in environment.get_tools()]
            for task in self._tasks[name].values():
                judged = "NL_ASSERTION" in str(task.evaluation_criteria.reward_basis)
                calls = [{"name": one.name, "arguments": one.arguments} for one in task.evaluation_criteria.actions]
                yield {
                    "id": f"{name}/{task.id}",
                    "prompt": environment.policy,
                    "tools": tools,
                    "calls": calls,
                    "writes": [at for at, one in enumerate(calls) if environment._is_mutating_tool(one["name"])],  # noqa: SLF001 - no other name
                    "answer": "\n".join(task.evaluation_criteria.communicate_info or ()),
                    "split": "test" if task.id in splits["test"] else "train",
                    "scenario": str(task.user_scenario),
                    "problem": "a model judges it" * bool(judged and task.evaluation_criteria.nl_assertions),
                }

    def run(self, name: str, calls: Sequence[_Task], answer: str, results: list[str]) -> dict[str, bool]:
        domain, _, key = name.partition("/")
        task, (environment, *others) = self._tasks[domain][key], self._ready[domain]
        said = [self._messages.AssistantMessage(role="assistant", content=answer)] if answer else []
        for at, one in enumerate(calls):
            call = self._messages.ToolCall(id=str(at), **one)
            reply = environment.get_response(call)
            said += [self._messages.AssistantMessage(role="assistant", tool_calls=[call]), reply]
            results.append(reply.content)
        state = self._state.calculate_reward(lambda **_: others.pop(), task, said)
        silent = "COMMUNICATE" not in str(task.evaluation_criteria.reward_basis)
        return {"done": state.reward == 1.0 and (silent or self._said.calculate_reward(task, said).reward == 1.0)}


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


def main(name: str, folder: str, *needed: str) -> None:
    """Answer until stdin ends; each run of calls has a process of its own, so that nothing changes for the next."""
    sys.path[:0] = [*needed, folder]
    program = _AgentDojo(folder) if name == "agentdojo" else _Tau2(folder) if name == "tau2" else _Bfcl(folder)
    gc.freeze()
    for line in sys.stdin:
        child = 0 if isinstance(program, _Bfcl) else os.fork()
        if child:
            if os.waitpid(child, 0)[1]:
                print(json.dumps({"done": False, "results": ["the program ended"]}), flush=True)
            continue
        print(json.dumps(_answered(program, json.loads(line))), flush=True)
        if not isinstance(program, _Bfcl):
            os._exit(0)


def _answered(program: _AgentDojo | _Tau2 | _Bfcl, asked: _Task) -> object:
    results: list[str] = []
    try:
        if isinstance(program, _Bfcl):
            return {"done": program.score(asked["answer"], asked["task"])}
        if "list" in asked:
            return list(program.tasks())
        return {**program.run(asked["task"], asked["calls"], asked["answer"], results), "results": results}
    except Exception as error:  # noqa: BLE001 - answers that the program cannot read or run are the target's
        return {"done": False, "results": [*results, f"{type(error).__name__}: {error}"]}


if __name__ == "__main__":
    main(*sys.argv[1:])
