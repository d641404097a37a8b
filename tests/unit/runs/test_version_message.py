"""What an accepted version says in git."""

import json
import re
from dataclasses import replace

import pytest

from skillopt.gate.comparison import PairedTask
from skillopt.loop.events import VersionAccepted
from skillopt.rollouts import Usage
from skillopt.runs.run import version_of
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Change, Edit, Op
from skillopt.skills.folder import encode_skill
from skillopt.storage.ledger import RunRecord
from skillopt.versions.repository import NewVersion
from tests.fakes.verdicts import made_verdict

PAIRS = (PairedTask("a", 0, 1, 0.2, 1), PairedTask("b", 0, 1, 0.2, 1), PairedTask("c", 1, 0.5, 1, 0.7))
VERDICT = made_verdict(pairs=PAIRS, confidence=0.984)


def accepted(edit: Edit) -> VersionAccepted:
    return VersionAccepted(1, 1, 4, "edits", "text", (Change(edit, 3, ""),), VERDICT, 120)


ADD = Edit("s4e1", Op.ADD, section="Values", content="- Trim.", rationale="Cells had spaces.", tasks=("t1", "t2"))
START = encode_skill(Skill("rows", SkillDocument("text")))
CONFIG = json.dumps([json.dumps({"metric": "mixed"}), "demo", "opt"])


def commit(event: VersionAccepted, usd: float | None = None) -> NewVersion:
    record = RunRecord("abc", "rows", "skills/rows", CONFIG, "", "digest", START, "", 0)
    return version_of(record, event, "2026-01-05T00:00:00+00:00", "", (Usage(usd=usd), 0.034))


def test_trailers_hold_the_numbers_and_an_unknown_price_is_not_zero() -> None:
    trailers = dict(commit(accepted(ADD)).trailers)
    assert (trailers["Val-Before"], trailers["Val-After"]) == ("1 of 3", "2.5 of 3")
    assert trailers["Score"] == "0.47 to 0.90"
    assert trailers["Wins-Ties-Losses"] == "2/0/1"
    assert trailers["Cost-USD"] == "unknown"
    assert trailers["Error-Spent"] == "0.0340"
    assert dict(commit(accepted(ADD), 1.5).trailers)["Cost-USD"] == "1.50"


@pytest.mark.parametrize(
    "text",
    ["fixes #12", "closes acme/app#3", "thanks @team", "resolves GH-7", "fixes https://github.com/acme/app/issues/9"],
)
def test_the_words_of_a_model_close_no_issue_and_call_nobody(text: str) -> None:
    body = commit(accepted(replace(ADD, rationale=text, content=f"- {text}"))).body
    assert text not in body
    assert not re.search(r"#\d|@\w|GH-\d|/issues/\d", body)
