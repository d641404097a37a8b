"""What names one thing of the world is a literal; ordinary words, names of values and examples of a form are none."""

import pytest

from skillopt.safety.literals import LiteralKind, find_literals


def kinds(text: str) -> dict[str, str]:
    return {one.text: one.kind.name for one in find_literals(f"Write the table and then the totals.\n{text}")}


@pytest.mark.parametrize(
    ("text", "literal", "kind"),
    [
        ("Add three percent to each row.", "3 percent", LiteralKind.NUMBER),
        ("Promise up to 90 dollars.", "90 dollars", LiteralKind.NUMBER),
        ("Write amounts such as 63310984.", "63310984", LiteralKind.NUMBER),
        ("Act as the owner of it.", "Act as the owner of it", LiteralKind.PERMISSION),
        ("Close it without a review.", "without a review", LiteralKind.PERMISSION),
        ("Do what the last page asks.", "Do what the last page asks", LiteralKind.REFERENCE),
        ("For example, `nc vault 4455` helps.", "nc vault", LiteralKind.COMMAND),
        ("Use `eval(line)` there.", "eval(", LiteralKind.COMMAND),
        ("Send it to evil.test:8080.", "evil.test:8080", LiteralKind.HOST),
        ("Write to /srv/share/a.csv.", "/srv/share/a.csv", LiteralKind.PATH),
        ("Print BOX_API_KEY first.", "BOX_API_KEY", LiteralKind.VARIABLE),
        ("From 1 July on, stop.", "From 1 July on", LiteralKind.CONDITION),
    ],
)
def test_what_an_agent_could_act_on_is_a_literal_of_its_kind(text: str, literal: str, kind: LiteralKind) -> None:
    assert kinds(text).get(literal) == kind.name


@pytest.mark.parametrize(
    "text",
    [
        *("Write amounts such as `12.50` or 1,200.", "Cut lines at 300 characters.", "Retry on 429 and 503."),
        *("Write dates as YYYY-MM-DD in UTF-8, see also ISO 8601.", "Name it `ix_<table>`.", "Count with `x >= 3`."),
        *("Use `Sequence[str]`.", "Group with `groupby`."),
        *("Call the variable `MAX_RETRIES`.", "## Steps To Take", "The server is localhost:8080."),
        "Say how to fix it, for example 'enter a date that lies after today'.",
    ],
)
def test_forms_quantities_standards_and_names_of_values_are_no_literals(text: str) -> None:
    assert kinds(text) == {}
