"""The table of evidence: a row for each failure, within its tokens whatever the feedback is."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.prompts.evidence_table import TABLE_TOKENS, EvidenceRow, write_evidence_table
from skillopt.skills.document import estimate_tokens


def failed(number: int, feedback: str, group: int) -> EvidenceRow:
    return EvidenceRow(f"train-{number:03}", 0, 1, group, feedback)


def test_tasks_of_one_group_share_a_row_and_what_passes_comes_last() -> None:
    rows = [
        failed(1, "row 1: expected 3\nrow 2: expected 4", 1),
        failed(2, "row 9: expected 1", 1),
        EvidenceRow("train-003", 1, 2, 2, ""),
        EvidenceRow("train-004", 2, 2),
    ]
    assert write_evidence_table(rows).splitlines() == [
        "group | tasks, passed of repeats | line of the newest feedback that no other group has",
        "1 | train-001 0/1, train-002 0/1 | row 1: expected 3 (and 1 more line)",
        "2 | train-003 1/2 | (no feedback)",
        "always passed | train-004 2/2",
    ]


@given(st.text(min_size=0, max_size=600), st.integers(min_value=1, max_value=72))
def test_72_failures_fit_whatever_their_feedback_is(feedback: str, groups: int) -> None:
    rows = [failed(number, feedback, number % groups + 1) for number in range(72)]
    assert estimate_tokens(write_evidence_table(rows)) <= TABLE_TOKENS + 200
