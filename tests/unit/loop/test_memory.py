"""The rejected-edit memory."""

from skillopt.loop.memory import MOST_REJECTED, Memory
from skillopt.skills.edits import Edit, Op


def test_the_newest_rejected_edits_are_remembered_with_their_reasons_and_no_more_than_are_shown() -> None:
    memory = Memory()
    for number in range(MOST_REJECTED + 3):
        memory.refuse(Edit(f"e{number}", Op.ADD, content=f"- idea{number:02}"), "no clear gain")
    assert len(memory.rejected) == MOST_REJECTED
    assert "idea03" in memory.rejected[0]
    assert memory.rejected[-1].endswith(f"idea{MOST_REJECTED + 2}': no clear gain")
