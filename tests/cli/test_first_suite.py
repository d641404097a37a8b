"""README's first suite, trained to its end with the command line and a loopback model that greets as its skill says."""

import json
import re
from pathlib import Path

import pytest

from tests.fakes.fake_chat import completion, fake_chat
from tests.fakes.projects import git, skillopt
from tools.fake_providers.loopback import Answer, Body

pytestmark = pytest.mark.process

README = Path(__file__).resolve().parents[2] / "README.md"
SKILL = "---\nname: my-skill\ndescription: Greets people.\n---\n# Greeting\n\n- Be kind.\n"
RULE = "- Greet everybody with the two words of a formal day greeting and an exclamation mark: Good day!"


def greet(body: Body) -> Answer:
    """Greet as the skill says; as the optimizer model, propose the rule for all tasks that are shown."""
    asked = "\n".join(str(turn.get("content")) for turn in body["messages"])
    if "Task: reflect" in asked:
        tasks = sorted(set(re.findall(r"\b(?:ada|ben|cleo)\b", asked[asked.index("## Evidence") :])))
        return completion(body, json.dumps({"edits": [{"op": "add", "content": RULE, "tasks": tasks}]}))
    return completion(body, "Good day!" if RULE in asked else "Hello there.")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project that README describes: a skill, and the suite of its first example."""
    folder = tmp_path / "project"
    (folder / "skills" / "my-skill").mkdir(parents=True)
    (folder / "skills" / "my-skill" / "SKILL.md").write_text(SKILL, encoding="utf-8")
    example = re.search(r"```yaml\n# (suites/my-skill\.yaml)\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    (folder / "suites").mkdir()
    (folder / example[1]).write_text(example[2], encoding="utf-8")
    git(folder.parent, "init", "--quiet", "--initial-branch=main", str(folder))
    assert skillopt(folder, "init").returncode == 0
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


def test_the_first_example_of_the_readme_is_learned_and_its_draft_taken(project: Path) -> None:
    with fake_chat(greet) as server:
        models = ("--harness", "chat/openai-compatible/fake", "--model", "openai-compatible/fake")
        ended = skillopt(project, "optimize", "my-skill", *models, "--set", f"base_url={server.url}/v1", "--json")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["rollouts"] <= 60
    assert found["calls"] <= 12
    assert RULE in skillopt(project, "diff", "my-skill", "draft").stdout
    taken = skillopt(project, "take", "my-skill")
    assert taken.returncode == 0, taken.stderr
    assert RULE in git(project, "show", "skillopt/my-skill:skills/my-skill/SKILL.md")
    assert git(project, "status", "--porcelain") == ""
    assert (project / "skills" / "my-skill" / "SKILL.md").read_text(encoding="utf-8") == SKILL
