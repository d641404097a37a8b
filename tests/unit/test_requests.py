"""Requests for rollouts: which skills they install, and what identifies them."""

from skillopt.protocols import RolloutRequest
from skillopt.skills.document import Skill, SkillDocument
from skillopt.storage.ledger import rollout_key
from skillopt.tasks import Task, VerifierSpec
from tests.fakes.worlds import SKILL

TASK = Task("t", "Do it", VerifierSpec("exact", '{"expected": "x"}'))
OTHER = Skill("other", SkillDocument("---\nname: other\ndescription: Other.\n---\n# Other\n"))


def test_nothing_beside_a_skill_leaves_its_recorded_answers_valid() -> None:
    assert RolloutRequest(SKILL, TASK).digest == SKILL.digest
    assert RolloutRequest(None, TASK).digest == ""
    assert rollout_key(RolloutRequest(SKILL, TASK).digest, "task", "demo", 0) == rollout_key(
        SKILL.digest, "task", "demo", 0
    )


def test_what_lies_beside_is_part_of_what_is_recorded() -> None:
    changed = OTHER.with_document(SkillDocument(OTHER.document.text + "- more\n"))
    requests = [
        RolloutRequest(SKILL, TASK),
        RolloutRequest(SKILL, TASK, beside=(OTHER,)),
        RolloutRequest(SKILL, TASK, beside=(changed,)),
        RolloutRequest(None, TASK, beside=(OTHER,)),
        RolloutRequest(OTHER, TASK, beside=(SKILL,)),
    ]
    assert len({request.digest for request in requests}) == len(requests)
