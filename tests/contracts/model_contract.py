"""What every optimizer model must do."""

import pytest

from skillopt.prompts.evidence import fence
from skillopt.prompts.proposed_edits import read_reflection
from skillopt.prompts.stages import Aim, Told, ask_reflection, ask_slow_update, read_slow_update
from skillopt.protocols import Model
from skillopt.skills.document import SkillDocument

_DOCUMENT = SkillDocument("---\nname: rows\ndescription: Rows.\n---\n# Rows\n\n## Values\n\n- Trim spaces.\n")
_EVIDENCE = fence(
    "evidence",
    "### Task t1\nstatus: ok\nscore: 0.500 (not passed)\nfeedback:\n"
    'output.csv row 1 column "email": expected "ann@example.com", found "ANN@example.com"\nprompt:\nClean the table.',
)


class ModelContract:
    """Inherit and give `model`."""

    @pytest.fixture
    def model(self) -> Model:
        raise NotImplementedError

    def test_a_reflection_is_answered_with_edits_that_can_be_read_and_with_usage(self, model: Model) -> None:
        identity = model.identity
        reply = model.reply(ask_reflection(_DOCUMENT, _EVIDENCE, Aim(failures=True, budget=3), Told()))
        assert len(read_reflection(reply.text).edits) <= 3
        assert reply.usage.calls >= 1
        assert reply.usage.usd is None or reply.usage.usd >= 0
        assert identity
        assert model.identity == identity

    def test_a_slow_update_is_answered_with_guidance_that_can_be_read(self, model: Model) -> None:
        prompt = ask_slow_update(_DOCUMENT, fence("comparison", "stable: task t1, score 1.000 -> 1.000"))
        read_slow_update(model.reply(prompt).text)
