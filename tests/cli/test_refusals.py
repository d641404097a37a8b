"""One memory of refusals: what a person refused is told to whoever proposes, and is not tried again."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from mcp import Client

from skillopt.loop.events import EditRefused, decode_event
from skillopt.skills.edits import Edit, Op
from skillopt.storage.ledger import Ledger
from skillopt.versions.decisions import PersonsWord
from skillopt.versions.refusals import refuse
from skillopt.versions.repository import Repository
from skillopt_mcp.server import make_server
from tests.fakes.drafts import accepted, run_events
from tests.fakes.fake_chat import answer_prompt, completion, fake_chat
from tests.fakes.mcp_clients import say
from tests.fakes.projects import FAST, job, make_project, skillopt
from tests.fakes.triggers import make_siblings
from tools.fake_providers.loopback import Answer, Body

pytestmark = [pytest.mark.anyio, pytest.mark.process]

EMAIL = "Write e-mail addresses in lower case."
WHY = "our partners send upper case"
EDIT = {"op": "add", "section": "Values", "content": f"- {EMAIL}", "tasks": ["train1", "train3"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a project in which a person refused a rule."""
    made = make_project(tmp_path / "project")
    run_events(made, accepted(EMAIL))
    done = skillopt(made, "decline", "rows", "1", "--reason", WHY)
    assert done.returncode == 0, done.stderr
    return made


async def test_through_mcp_the_evidence_tells_the_refusal_and_the_same_text_is_refused_with_it(folder: Path) -> None:
    async with Client(make_server(folder)) as client:
        shown = await say(client, "get_evidence", name="rows")
        base = shown.partition("base `")[2][:12]
        refused = await say(client, "propose_edits", name="rows", base=base, edits=[EDIT])
        assert "No job was started" in await say(client, "job_status")
    (told,) = (line for line in shown.partition("## Refused by people")[2].splitlines() if EMAIL in line)
    assert told.endswith(f"Tester refused it: {WHY}")
    assert "1 of 1 edits cannot" in refused
    assert f"Tester refused '- {EMAIL}': {WHY}" in refused


@dataclass
class Asked:
    """An optimizer model on loopback that proposes the refused text, and what it was asked."""

    address: str = ""
    prompts: list[str] = field(default_factory=list)

    def __call__(self, body: Body) -> Answer:
        self.prompts.append("\n".join(str(turn["content"]) for turn in body["messages"]))
        reflects = "Task: reflect on failures" in self.prompts[-1]
        return completion(body, json.dumps({"edits": [EDIT]})) if reflects else answer_prompt(body)


@pytest.fixture
def asked() -> Iterator[Asked]:
    model = Asked()
    with fake_chat(model) as server:
        model.address = f"{server.url}/v1"
        yield model


def refusals_of_training(folder: Path) -> set[str]:
    """Return why the newest training tried edits no more that had been proposed."""
    with closing(Ledger.open(folder, read_only=True)) as ledger:
        events = [decode_event(row.kind, row.payload) for row in ledger.events(ledger.runs("rows")[0].id)]
    return {event.reason for event in events if isinstance(event, EditRefused)}


def test_training_tells_the_optimizer_model_who_refused_what_and_why_and_does_not_try_it(
    folder: Path, asked: Asked
) -> None:
    model = ("--model", "openai-compatible/optimizer", "--max-rollouts", "60")
    ended = skillopt(folder, "optimize", "rows", *FAST, *model, SKILLOPT_BASE_URL=asked.address)
    assert ended.returncode in {0, 1}, ended.stderr
    told = next(prompt for prompt in asked.prompts if "### Refused by people" in prompt)
    assert f"'- {EMAIL}': Tester refused" in told
    assert refusals_of_training(folder) == {f"Tester refused '- {EMAIL}': {WHY}"}


def test_training_of_a_description_tells_who_refused_which_edit_and_why(tmp_path: Path, asked: Asked) -> None:
    siblings = make_siblings(tmp_path / "project")
    edit, word = Edit("s1e1", Op.ADD, content="- Claim every meal."), PersonsWord("Ada", "meals are flat rates")
    place = "expense-claims", "skills/expense-claims"
    refuse(Repository.find(siblings), place, [(f"{'0' * 12}/1", edit)], word, dropped=True)
    model = ("--train", "--repeats", "1", "--model", "openai-compatible/optimizer", "--set", "max_tokens=1000000")
    ended = skillopt(siblings, "trigger", "expense-claims", *model, SKILLOPT_BASE_URL=asked.address)
    assert ended.returncode in {0, 1}, ended.stderr
    told = next(prompt for prompt in asked.prompts if "Task: write a description" in prompt)
    assert "skill's text; Ada refused" in told
    assert "'- Claim every meal.'" in told


def test_the_refused_rule_in_other_words_waits_as_a_draft_with_the_refusal(folder: Path, tmp_path: Path) -> None:
    edits = tmp_path / "edits.json"
    edits.write_text(json.dumps([EDIT | {"content": "- Lower-case every email address."}]))
    done = job(folder, "propose", str(edits), "rows", *FAST)
    told = f"says in other words what was refused by Tester: {WHY}"
    assert told in " ".join(done.stdout.split())
    logged = skillopt(folder, "log", "rows").stdout
    assert "a person must look at it first: refused-before" in logged
    assert told in " ".join(logged.split())
