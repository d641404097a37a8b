"""Serve the tasks of AgentDojo on stdin and stdout, one JSON object a line: `serve_agentdojo.py FOLDER NEEDED`.

`{"list": true}` gives the tasks. `{"task": ID, "calls": [...], "answer": TEXT}` runs calls in the task's environment as
it is at the start, and gives what each returned and whether the published check finds the task done. What the program
imports to ask models is not needed and stands in empty.
"""

import importlib
import json
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_VERSION = "v1.2.2"
_MODELS = "agentdojo.agent_pipeline.llms.google_llm"


def _leave_models_out(folder: str) -> None:
    """Let the package of pipelines be found without what asks models: one name of it is used elsewhere."""
    pipelines, models = types.ModuleType("agentdojo.agent_pipeline"), types.ModuleType(_MODELS)
    pipelines.__path__ = [f"{folder}/agentdojo/agent_pipeline"]
    vars(models)["EMPTY_FUNCTION_NAME"] = "<empty-function>"
    sys.modules |= {pipelines.__name__: pipelines, _MODELS: models}


def _replay(calls: Sequence[Mapping[str, Any]], answer: str) -> Any:  # noqa: ANN401 - a class of the program
    """Make a pipeline of the program that runs given calls, keeps what they return, and ends with an answer."""
    element = importlib.import_module("agentdojo.agent_pipeline.base_pipeline_element").BasePipelineElement
    executor = importlib.import_module("agentdojo.agent_pipeline.tool_execution").ToolsExecutor()
    call_of = importlib.import_module("agentdojo.functions_runtime").FunctionCall

    class Replay(element):  # type: ignore[misc, valid-type]  # a class that is imported by its name
        def __init__(self) -> None:
            self.results: list[str] = []

        def query(self, query: str, runtime: object, env: object, *_: object) -> object:
            self.results, said = [], []
            for one in calls:
                asked = {"role": "assistant", "content": [], "tool_calls": [call_of(**one)]}
                _query, _runtime, env, found, _extra = executor.query(query, runtime, env, [asked])
                said += found
                self.results.append(found[-1]["error"] or "".join(part["content"] for part in found[-1]["content"]))
            text = [{"type": "text", "content": answer}]
            return query, runtime, env, [*said, {"role": "assistant", "content": text, "tool_calls": None}], {}

    return Replay()


def _tasks(suites: Mapping[str, Any], starts: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    for name, suite in suites.items():
        tools = [
            {"name": one.name, "description": one.description, "parameters": one.parameters.model_json_schema()}
            for one in suite.tools
        ]
        for key, task in suite.user_tasks.items():
            environment = task.init_environment(starts[name].model_copy(deep=True))
            gold = [
                json.loads(one.model_dump_json(include={"function", "args"})) for one in task.ground_truth(environment)
            ]
            yield {
                "id": f"{name}/{key}",
                "prompt": task.PROMPT,
                "tools": tools,
                "calls": gold,
                "answer": task.GROUND_TRUTH_OUTPUT,
            }


def main(folder: str, *needed: str) -> None:
    """Answer until stdin ends."""
    sys.path[:0] = [*needed, folder]
    _leave_models_out(folder)
    suites = importlib.import_module("agentdojo.task_suite.load_suites").get_suites(_VERSION)
    starts = {name: suite.load_and_inject_default_environment({}) for name, suite in suites.items()}
    for line in sys.stdin:
        asked = json.loads(line)
        if "list" in asked:
            print(json.dumps(list(_tasks(suites, starts))), flush=True)
            continue
        name, _, key = asked["task"].partition("/")
        pipeline, found = None, {"done": False, "results": []}
        try:
            pipeline = _replay(asked["calls"], asked["answer"])
            environment = starts[name].model_copy(deep=True)
            task = suites[name].user_tasks[key]
            done, _ = suites[name].run_task_with_pipeline(pipeline, task, None, {}, environment=environment)
            found = {"done": bool(done), "results": pipeline.results}
        except Exception as error:  # noqa: BLE001 - calls that the program cannot run are the target's
            found = {
                "done": False,
                "results": [*(pipeline.results if pipeline else ()), f"{type(error).__name__}: {error}"],
            }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
