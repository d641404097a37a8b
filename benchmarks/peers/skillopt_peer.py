"""SkillOpt 0.2.0 from PyPI, through its `ReflACTTrainer`.

Owns the adapter; runs in SkillOpt's own environment, where `skillopt` is the published package and not
this project. Choices, for both configurations:

- The published wheel has no prompt files, so its trainer stops at the first reflection. Stand-ins of one
  line each are put into its prompt cache at run time; the simulated optimizer model does not read them.
- Its function `azure_openai.chat_optimizer`, which every stage comes to, is replaced by the simulated
  optimizer model. Reflection asks the proposer that everybody has, with the edit budget of the prompt
  and the edits it says were rejected; merging joins equal edits; ranking is the model's of the world; the
  slow update keeps its last 6 lines and adds at most 2 for tasks that fail; meta skills have no effect.
- The settings are its published defaults: batch 40, minibatches of 8, at most 4 edits falling to 2 by a
  cosine, strict gate on the whole of `val`, slow update (put into the current skill without a gate) and meta
  skill after each epoch. One analyst instead of 16, since more make a seed's result depend on timing.
- The score of a task is `hard` when it is 1, and `soft` as it is.
- Handed over is `best_skill.md`, reported with the best selection score. An accept is a step's candidate
  that the gate let through, compared with the skill it was made from.
- `skillopt 0.2.0`: 4 epochs, as published, so it ends before the rollouts are spent.
- `skillopt 0.2.0, longer`: as many epochs as the rollouts allow.
"""

import io
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import skillopt.model.azure_openai as backend  # type: ignore[import-not-found]  # the published package, not ours
from skillopt.datasets.base import SplitDataLoader  # type: ignore[import-not-found]  # as above
from skillopt.engine.trainer import ReflACTTrainer  # type: ignore[import-not-found]  # as above
from skillopt.envs.base import EnvAdapter  # type: ignore[import-not-found]  # as above

from benchmarks.peers.exchange import Arena, BudgetSpentError, Outcome

__all__ = ["train"]

_STAND_INS = (
    *("analyst_error", "analyst_success", "merge_failure", "merge_success", "merge_final"),
    *("ranking", "slow_update", "meta_skill"),
)
_EPOCHS, _BATCH, _SLOW = 4, 40, 20
_GUIDANCE_KEPT, _GUIDANCE_NEW = 6, 2
_TRAJECTORY = re.compile(r"^### Trajectory \d+ \(id=(\S+)\)\n(.*?)(?=^### Trajectory |\Z)", re.MULTILINE | re.DOTALL)
_COMPARED = re.compile(r"^#### Task (\S+?): (.*?)(?=^#### Task |^### |\Z)", re.MULTILINE | re.DOTALL)
_Items = Sequence[Mapping[str, Any]]


def train(arena: Arena) -> None:
    """Let the trainer run its epochs, or until it has spent the rollouts.

    Args:
        arena: What it trains in.

    Raises:
        RuntimeError: A reply could not be made, and the trainer went on without.
    """
    prompts = import_module("skillopt.prompts")  # by name: this project has a package of that name too
    for name in _STAND_INS:
        prompts._cache[str(Path(prompts._PROMPTS_DIR, f"{name}.md"))] = f"Stand-in for {name}."  # noqa: SLF001 - the wheel lacks the files
    model = _Model(arena)
    backend.chat_optimizer = model.chat
    with tempfile.TemporaryDirectory(dir=".") as scratch, redirect_stdout(io.StringIO()):
        root = Path(scratch)
        (root / "start.md").write_text(arena.terms.start, "utf-8")
        adapter = _Adapter(arena, root / "run")
        try:
            ReflACTTrainer(_settings(arena, root), adapter).train()
        except BudgetSpentError:
            pass
        finally:
            adapter.note_best()
            _note_accepts(arena, root / "run")
    if model.trouble:
        raise RuntimeError(f"SkillOpt went on after this: {model.trouble!r}")


def _settings(arena: Arena, root: Path) -> dict[str, object]:
    terms = arena.terms
    steps = -(-len(terms.train) // _BATCH)
    epoch = len(terms.train) + steps * len(terms.val) + 2 * _SLOW
    epochs = _EPOCHS if terms.peer == "skillopt 0.2.0" else -(-terms.rollouts // epoch)
    return {
        "out_root": str(root / "run"), "skill_init": str(root / "start.md"), "env": "landscape", "seed": terms.seed,
        "optimizer_model": "simulated", "target_model": "simulated", "num_epochs": epochs, "batch_size": _BATCH,
        "accumulation": 1, "minibatch_size": 8, "merge_batch_size": 8, "analyst_workers": 1, "train_size": 0,
        "edit_budget": 4, "min_edit_budget": 2, "lr_scheduler": "cosine", "use_gate": True, "sel_env_num": 0,
        "test_env_num": 0, "eval_test": False, "use_slow_update": True, "slow_update_samples": _SLOW,
        "use_meta_skill": True,
    }  # fmt: skip


def _note_accepts(arena: Arena, run: Path) -> None:
    """Say what the gate let through, from the files of the run."""
    history = json.loads((run / "history.json").read_text("utf-8")) if (run / "history.json").exists() else []
    for record in history:
        step = record["step"]
        if record["action"] in {"accept", "accept_new_best"}:
            child = run / "steps" / f"step_{step:04d}" / "candidate_skill.md"
            parent = run / "skills" / f"skill_v{step - 1:04d}.md"
            arena.accepts(parent.read_text("utf-8"), child.read_text("utf-8"))


class _Loader(SplitDataLoader):  # type: ignore[misc]  # a class of the published package, which is untyped here
    """The tasks of the world, by split."""

    def __init__(self, arena: Arena) -> None:
        super().__init__()
        self._arena = arena

    def setup(self, cfg: dict[str, Any]) -> None:  # noqa: ARG002 - the trainer's signature
        """Give each split its tasks; the held-out one stays closed."""
        splits = {"train": self._arena.terms.train, "val": self._arena.terms.val, "test": ()}
        self._splits = {name: [{"id": task} for task in tasks] for name, tasks in splits.items()}


class _Adapter(EnvAdapter):  # type: ignore[misc]  # a class of the published package, which is untyped here
    """The simulated target, as the trainer's environment."""

    analyst_workers, failure_only, minibatch_size, edit_budget = 1, False, 8, 4

    def __init__(self, arena: Arena, run: Path) -> None:
        self._arena = arena
        self._run = run
        self._loader = _Loader(arena)

    def setup(self, cfg: dict[str, Any]) -> None:
        """Set the loader up too."""
        super().setup(cfg)
        self._loader.setup(cfg)

    def get_dataloader(self) -> _Loader:
        """Give the loader."""
        return self._loader

    def build_env_from_batch(self, batch: Any, **_: object) -> list[Any]:  # noqa: ANN401 - the trainer's type
        """Give the tasks of a batch."""
        return list(batch.payload or [])

    def build_train_env(self, batch_size: int, seed: int, **_: object) -> list[Any]:
        """Give a batch of train tasks."""
        return list(self._loader.build_train_batch(batch_size, seed).payload)

    def build_eval_env(self, env_num: int, split: str, seed: int, **_: object) -> list[Any]:
        """Give the tasks of a split."""
        return list(self._loader.build_eval_batch(env_num, split, seed).payload)

    def get_task_types(self) -> list[str]:
        """Name the one type."""
        return ["simulated"]

    def rollout(self, env_manager: _Items, skill_content: str, out_dir: str, **_: object) -> list[dict[str, Any]]:
        """Run tasks; trajectories are written where the trainer looks for them."""
        self.note_best()
        rows = []
        for outcome in self._arena.run(skill_content, [item["id"] for item in env_manager]):
            passed = outcome.score >= 1
            if "selection" not in out_dir:
                folder = Path(out_dir, "predictions", outcome.task)
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "conversation.json").write_text(json.dumps([{"role": "agent", "content": outcome.feedback}]))
            found = {"id": outcome.task, "hard": int(passed), "soft": outcome.score, "task_type": "simulated"}
            rows.append(found | {"fail_reason": "" if passed else outcome.feedback, "n_turns": 1})
        return rows

    def note_best(self) -> None:
        """Say what would be handed over by now."""
        best, state = self._run / "best_skill.md", self._run / "runtime_state.json"
        if state.exists():
            score = json.loads(state.read_text("utf-8"))["best_score"]
            self._arena.returns(best.read_text("utf-8") if best.exists() else self._arena.terms.start, score)


class _Model:
    """The simulated optimizer model: answers each stage with the JSON that stage reads."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self.trouble: Exception | None = None

    def chat(self, system: str, user: str, *_: object, stage: str = "", **__: object) -> tuple[str, dict[str, int]]:  # noqa: ARG002 - the published signature
        """Answer a prompt."""
        try:
            return json.dumps(getattr(self, f"_{stage}")(user)), {}
        except Exception as error:
            self.trouble = self.trouble or error
            raise

    def _analyst(self, user: str) -> dict[str, Any]:
        before, _, shown = user.partition("## Failed Trajectories")
        if not shown:
            self._arena.called()
            return {"batch_size": 0, "success_patterns": [], "patch": {"reasoning": "", "edits": []}}
        found = re.search(r"at most L=(\d+)", before)
        if found is None:
            raise ValueError("expected an edit budget in the prompt, found none")
        skill = before.split("## Current Skill\n", 1)[1].split("\n\n## Edits Budget\n", 1)[0]
        rejected = re.findall(r"^ +\d+\. \[\w+\] (.*)$", before, re.MULTILINE)
        failing = [Outcome(task, 0.0, text) for task, text in _TRAJECTORY.findall(shown)]
        made = self._arena.propose(skill, failing, int(found[1]), rejected)
        edits = [
            {
                "op": "append" if edit.op == "add" else "delete",
                "content" if edit.op == "add" else "target": edit.line,
                "support_count": len(edit.tasks),
            }
            for edit in made.edits
        ]
        summary = [{"failure_type": "symptom", "count": len(failing), "description": "tasks show symptoms"}]
        return {
            "batch_size": len(failing), "failure_summary": summary, "patch": {"reasoning": "", "edits": edits}
        }  # fmt: skip

    def _merge(self, user: str) -> dict[str, Any]:
        self._arena.called()
        joined: dict[tuple[str, str], dict[str, Any]] = {}
        for patch in json.loads(user[user.rindex("\n[\n") :]):
            for edit in patch.get("edits", []):
                key = (edit["op"], edit.get("content") or edit.get("target", ""))
                count = int(edit.get("support_count") or 1)
                joined[key] = {**edit, "support_count": count + joined.get(key, {}).get("support_count", 0)}
        return {"reasoning": "", "edits": list(joined.values())}

    def _ranking(self, user: str) -> dict[str, Any]:
        rows = re.findall(r"^\[\d+\] op=(.*)$", user, re.MULTILINE)
        counts = [re.search(r"support=(\d+)", row) for row in rows]
        return {
            "reasoning": "",
            "selected_indices": self._arena.rank([int(found[1]) if found else 1 for found in counts]),
        }

    def _slow_update(self, user: str) -> dict[str, Any]:
        skill = user.split("## Current Epoch's Skill\n", 1)[1].split("\n\n## Previous Slow Update Guidance\n", 1)[0]
        guidance = re.findall(r"<!-- SLOW_UPDATE_START -->\n(.*?)<!-- SLOW_UPDATE_END -->", skill, re.DOTALL)
        kept = [line for line in "".join(guidance).splitlines() if line.startswith("- ")][-_GUIDANCE_KEPT:]
        compared = _COMPARED.findall(user)
        failing = [Outcome(task, 0.0, text) for task, text in compared if "- Curr epoch: FAIL" in text]
        made = self._arena.propose(skill, failing, _GUIDANCE_NEW)
        new = [edit.line for edit in made.edits if edit.op == "add"]
        return {"reasoning": "", "slow_update_content": "\n".join([*kept, *new])}

    def _meta_skill(self, _: str) -> dict[str, Any]:
        self._arena.called()
        return {"reasoning": "", "meta_skill_content": "No memory."}
