"""The demo model finds causes in feedback, and answers every stage with what it asks for."""

import json

import pytest

from benchmarks.demo.advice import ADVICE, IRRELEVANT, Symptom
from benchmarks.demo.diagnosis import diagnose, read_feedback
from benchmarks.demo.model import DemoModel
from benchmarks.demo.rule_reading import read_sentence
from skillopt.prompts.evidence import fence
from skillopt.prompts.proposed_edits import ProposedEdit, read_reflection
from skillopt.prompts.stages import (
    Aim,
    Told,
    ask_reflection,
)
from skillopt.prompts.tried_edits import EditFate, TriedEdit
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Op, apply_edits

SKILL = """---
name: tidy
description: Tidies tables.
---

# Tidy

## Values

- Trim spaces around values.
- Write dates as YYYY-MM-DD.

## Rows

- Remove empty rows.
- Double-check the output.
"""
DETAILS = {
    "first": "day",
    "second": "month",
    "code": "49",
    "width": "4",
    "example": "ORD-0042",
    "pairs": "`qty` to `quantity`",
}


def cell(column: str, expected: str, found: str, row: int = 3) -> str:
    return f'output.csv row {row} column "{column}": expected {json.dumps(expected)}, found {json.dumps(found)}'


def evidence(feedback: dict[str, str]) -> str:
    blocks = (
        f"### Task {task}\nstatus: ok\nscore: 0.5\nfeedback:\n{text}\nprompt:\nClean it."
        for task, text in feedback.items()
    )
    return fence("evidence", "\n\n".join(blocks))


def reflection(feedback: dict[str, str], skill: str = SKILL, rejected: tuple[str, ...] = (), budget: int = 4) -> str:
    tried = tuple(TriedEdit(line, EditFate.TRIED, "it did worse") for line in rejected)
    return ask_reflection(
        SkillDocument(skill), evidence(feedback), Aim(failures=True, budget=budget), Told(tried=tried)
    )


def symptoms(*lines: str) -> list[Symptom]:
    return [finding.symptom for finding in diagnose([read_feedback("t-1", "\n".join(lines))])]


@pytest.mark.parametrize(
    ("expected", "found", "symptom"),
    [
        ("Steel bolt", " Steel  bolt", Symptom.SPACES),
        ("2024-03-05", "05/03/2024", Symptom.DATES),
        ("2024-03-05", "2024-05-03", Symptom.DATES),
        ("2024-03-05", "Mar 5, 2024", Symptom.DATES),
        ("1234.50", "1.234,50", Symptom.DECIMAL_COMMA),
        ("1234.50", "1,234.50", Symptom.THOUSANDS),
        ("12.50", "12.5", Symptom.SHORT_DECIMALS),
        ("12.50", "€12.50", Symptom.CURRENCY_SYMBOL),
        ("12.50", "EUR 12.50", Symptom.CURRENCY_INSIDE),
        ("EUR", "eur", Symptom.CURRENCY_STYLE),
        ("-12.50", "(12.50)", Symptom.PARENTHESES),
        ("-12.50", "12.50-", Symptom.TRAILING_MINUS),
        ("0.19", "19%", Symptom.PERCENT),
        ("0.19", "19", Symptom.PERCENT),
        ("true", "Y", Symptom.BOOLEANS),
        ("a@b.example", "A@B.EXAMPLE", Symptom.EMAIL),
        ("+49151234567", "0151 234567", Symptom.PHONE),
        ("DE", "Germany", Symptom.COUNTRY),
        ("4.54", "10.0 lb", Symptom.POUNDS),
        ("25.40", "10.0 in", Symptom.INCHES),
        ("", "N/A", Symptom.MISSING),
        ("ORD-0007", "ord-7", Symptom.IDS),
        ("Sales", "", Symptom.GROUP_BLANKS),
        ("Anna Berg", "ANNA BERG", Symptom.UPPER_CASED),
        ("12.50", "12", Symptom.ROUNDED),
        ("12.50", "1250", Symptom.SEPARATORS_LOST),
        ("", "0", Symptom.ZERO_FILLED),
    ],
)
def test_a_wrong_cell_shows_its_symptom(expected: str, found: str, symptom: Symptom) -> None:
    assert symptoms(cell("anything", expected, found)) == [symptom]


@pytest.mark.parametrize(
    ("lines", "symptom"),
    [
        (['output.csv: expected columns ["order_date"], found ["Order Date"]'], Symptom.HEADER_CASE),
        (['output.csv: expected columns ["quantity"], found ["qty"]'], Symptom.SYNONYMS),
        (['output.csv: expected columns ["a"], found ["a", "Unnamed: 1"]'], Symptom.EMPTY_COLUMN),
        (['output.csv: expected columns ["a", "currency"], found ["a"]'], Symptom.CURRENCY_INSIDE),
        (
            ["output.csv: expected 9 rows, found 10", 'output.csv row 10: unexpected row {"a": "Total", "b": "9"}'],
            Symptom.TOTALS,
        ),
        (
            ["output.csv: expected 9 rows, found 10", 'output.csv row 10: unexpected row {"a": "Note: net", "b": ""}'],
            Symptom.FOOTERS,
        ),
        (["output.csv: expected 9 rows, found 10", cell("a", "7", ""), cell("b", "8", "")], Symptom.EMPTY_ROWS),
        (["output.csv: expected 9 rows, found 10", cell("order_id", "ORD-0002", "ORD-0001")], Symptom.DOUBLE_ROWS),
        (["output.csv: expected 9 rows, found 10", cell("updated_on", "2024-03-05", "2023-03-05")], Symptom.STALE_ROWS),
        (["output.csv: expected 9 rows, found 7"], Symptom.ROWS_LOST),
        ([cell("id", "A-0001", "A-0002", 1), cell("id", "A-0002", "A-0001", 2)], Symptom.ORDER),
    ],
)
def test_rows_and_columns_show_their_symptom(lines: list[str], symptom: Symptom) -> None:
    assert symptom in symptoms(*lines)


def test_lines_of_another_form_are_passed_over() -> None:
    assert (
        symptoms("output.csv: missing", "[... about 40 tokens left out ...]", 'output.csv row 2 column "a": expec')
        == []
    )


def test_findings_are_ranked_by_the_tasks_that_show_them() -> None:
    feedback = [
        read_feedback("t-1", cell("paid", "true", "Y")),
        read_feedback("t-2", cell("paid", "true", "yes") + "\n" + cell("d", "2024-03-05", "05/03/2024")),
    ]

    assert [(finding.symptom, finding.tasks) for finding in diagnose(feedback)] == [
        (Symptom.BOOLEANS, ("t-1", "t-2")),
        (Symptom.DATES, ("t-2",)),
    ]


def test_details_come_from_the_evidence() -> None:
    feedback = "\n".join(
        [
            cell("d", "2024-03-05", "03/05/2024"),
            cell("phone", "+441512345", "01512345"),
            cell("id", "A-000007", "A-7"),
            'output.csv: expected columns ["quantity", "phone"], found ["qty", "tel"]',
        ]
    )
    details = {finding.symptom: finding.details for finding in diagnose([read_feedback("t", feedback)])}

    assert details[Symptom.DATES]["first"] == "month"
    assert details[Symptom.DATES]["second"] == "day"
    assert details[Symptom.PHONE]["code"] == "44"
    assert details[Symptom.IDS]["width"] == "6"
    assert details[Symptom.SYNONYMS]["pairs"] == "`qty` to `quantity`, `tel` to `phone`"


def filled(rule: str) -> str:
    for name, value in DETAILS.items():
        rule = rule.replace(f"{{{name}}}", value)
    return rule


@pytest.mark.parametrize("symptom", ADVICE)
def test_every_good_rule_is_understood_and_all_wordings_mean_the_same(symptom: Symptom) -> None:
    advice = ADVICE[symptom]
    rules = [
        read_sentence(wording) for rule in advice.good for wording in (filled(rule), f"In every table: {filled(rule)}")
    ]
    kinds = {
        tuple(sorted((operation.kind, operation.value) for operation in rule.readings[0]))
        for rule in rules
        if rule.clear
    }

    assert all(rule.clear and rule.readings for rule in rules)
    assert len(kinds) == 1


@pytest.mark.parametrize("symptom", ADVICE)
def test_a_bad_rule_asks_for_something_else_than_the_good_ones(symptom: Symptom) -> None:
    good = {
        str(operation)
        for rule in ADVICE[symptom].good
        for reading in read_sentence(filled(rule)).readings
        for operation in reading
    }
    bad = [read_sentence(filled(rule)) for rule in ADVICE[symptom].bad]

    assert all(rule.readings for rule in bad)
    assert all(not good & {str(operation) for operation in reading} for rule in bad for reading in rule.readings)


def test_a_reflection_is_answered_with_edits_that_apply() -> None:
    prompt = reflection({"t-1": cell("paid", "true", "Y"), "t-2": cell("d", "2024-03-05", "05/03/2024")})
    document = SkillDocument(SKILL)

    for seed in range(20):
        edits = [
            edit.named(str(at)) for at, edit in enumerate(read_reflection(DemoModel(seed).reply(prompt).text).edits)
        ]

        assert len(edits) == 2
        assert all(edit.tasks for edit in edits)
        assert apply_edits(document, edits).document.text != SKILL


def test_a_vague_line_is_replaced_rather_than_joined() -> None:
    prompt = reflection({"t-1": cell("d", "2024-03-05", "05/03/2024")})
    edits = [edit for seed in range(30) for edit in read_reflection(DemoModel(seed).reply(prompt).text).edits]

    assert {(edit.op, edit.anchor) for edit in edits if "date" in edit.content} == {
        (Op.REPLACE, "- Write dates as YYYY-MM-DD.")
    }


def test_a_line_that_does_harm_is_deleted() -> None:
    skill = SKILL + "- Write all text in upper case.\n"
    prompt = reflection({"t-1": cell("name", "Anna Berg", "ANNA BERG")}, skill)

    (edit,) = read_reflection(DemoModel().reply(prompt).text).edits

    assert (edit.op, edit.anchor) == (Op.DELETE, "- Write all text in upper case.")


def test_what_the_skill_says_already_is_not_proposed() -> None:
    prompt = reflection({"t-1": cell("item", "Steel bolt", " Steel bolt")})

    assert [read_reflection(DemoModel(seed).reply(prompt).text).edits for seed in range(20)] == [()] * 20


def test_what_was_rejected_is_not_proposed_again_in_the_same_words() -> None:
    rejected = tuple(f"add after section Values: '- {rule}'" for rule in (*ADVICE[Symptom.BOOLEANS].good, *IRRELEVANT))
    prompt = reflection({"t-1": cell("paid", "true", "Y")}, rejected=rejected)
    edits = [edit for seed in range(40) for edit in read_reflection(DemoModel(seed).reply(prompt).text).edits]

    assert edits
    assert all(f"'{edit.content}'" not in line for edit in edits for line in rejected)


def test_successes_lead_to_no_edit_or_to_a_shorter_skill() -> None:
    document = SkillDocument(SKILL)
    replies: list[ProposedEdit] = []
    for seed in range(40):
        prompt = ask_reflection(document, evidence({"t-1": "all correct"}), Aim(failures=False, budget=3), Told())
        replies += read_reflection(DemoModel(seed).reply(prompt).text).edits

    assert {(edit.op, edit.anchor) for edit in replies} == {(Op.DELETE, "- Double-check the output.")}
    assert len(replies) < 20


@pytest.mark.parametrize("prompt", ["", "Task: dance", "Task: reflect on failures", "Task: rank edits\n\nnothing"])
def test_any_prompt_gets_an_answer(prompt: str) -> None:
    assert isinstance(json.loads(DemoModel().reply(prompt).text), dict)
