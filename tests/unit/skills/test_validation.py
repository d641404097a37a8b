"""The specification's rules and the clients' rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SkillError
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.validation import Finding, Level, check_trainable, validate

GOOD = "---\nname: tidy\ndescription: Cleans tables. Use it for CSV files.\n---\n# Tidy\n\n- trim\n"


def findings(text: str, *, name: str = "tidy") -> tuple[Finding, ...]:
    return validate(Skill(name, SkillDocument.parse(text.encode("utf-8", "surrogateescape"))))


def described(
    extra: str = "", *, name: str = "tidy", description: str = "Cleans tables.", body: str = "# Tidy\n"
) -> str:
    return f"---\nname: {name}\ndescription: {description}\n{extra}---\n{body}"


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace("\n", "\r\n"),
        described("license: MIT\ncompatibility: Needs git\nallowed-tools: Read Bash(git *)\nmetadata:\n  a: 'x'\n"),
        described(description="x" * 800, body="x\n" * 499),
    ],
    ids=["plain", "crlf", "every field", "largest"],
)
def test_a_skill_that_keeps_all_rules_has_no_findings(text: str) -> None:
    assert findings(text) == ()


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ('description: "Tidy tables.\nUse for CSV."\n', 4),
        ("description: 'Tidy tables.\nUse for CSV.'\n", 4),
        ("description: a\nallowed-tools: [Read,\nWrite]\n", 5),
        ("description: Tidy tables.\n\n  Keywords: a, b\n", 5),
        ("description: Tidy tables.\nUse for CSV.\n", 4),
        ('description: "Tidy" tables\n', 3),
        ("description: tables:\n", 3),
        ('description: "Tidy tables.\n  Use for CSV."\n', None),
        ("description: Use when: asked\n", None),
        ("description: *best* tool\n", None),
        ("description: [Beta] tool\n", None),
        ("description:\tTidy\n", None),
        ("description: a\ndescription: b\n", None),
        ("description: |\n  Tidy tables.\n\n  Use it.\n", None),
        ("description: a\nallowed-tools:\n- Read\n", None),
    ],
)
def test_a_frontmatter_that_claude_code_drops_is_an_error_of_that_client(fields: str, line: int | None) -> None:
    """As `claude plugin validate` 2.1.332 judges the same texts."""
    found = [one.line for one in findings(f"---\nname: tidy\n{fields}---\n# b\n") if "drops" in one.message]

    assert found == ([] if line is None else [line])


SPECIFICATION = [
    (described(description="tables\n  and #rows"), "warning", 3, "ends with 'tables and'"),
    ("", "error", 1, "expected frontmatter with name"),
    ("---\nname: tidy\ndescription: Use when: asked\n---\nx", "error", 3, "': ' in quotes"),
    ("---\nname: tidy\nname: tidy\n---\nx", "error", 3, "'name' again"),
    ("\ufeff" + GOOD, "warning", 1, "byte order mark"),
    (GOOD + "\udcff", "error", 8, "found the byte 0xff"),
    ("---\ndescription: x\n---\nx", "error", 1, "add 'name: tidy'"),
    (described(name="5"), "error", 2, "found 5 (a number)"),
    (described(name="tïdy"), "error", 2, "inside, found 'tïdy'"),
    (described(name="x" * 65), "error", 2, "64 characters, found 65"),
    (described(name="other"), "error", 2, "'tidy', found 'other'"),
    (described(description="[a]"), "error", 3, "text, found a list"),
    (described(description="'  '"), "error", 3, "when to use it"),
    (described(description="x" * 1025), "error", 3, "1024 characters, found 1025"),
    (described("license: [MIT]\n"), "error", 4, "license to be text"),
    (described("compatibility: ''\n"), "error", 4, "500 characters, found 0"),
    (described("allowed-tools: [Read]\n"), "warning", 4, "with spaces between"),
    (described("allowed-tools: true\n"), "error", 4, "found true (true or"),
    (described("metadata: x\n"), "error", 4, "text, found 'x'"),
    (described("metadata:\n  a: b\n  version: 1.0\n"), "warning", 6, "found 1.0 (a number)"),
    (described("licence: MIT\n"), "warning", 4, "licence (did you mean"),
    (described("version: '1'\nlicense: MIT\nauthor: x\n"), "warning", 4, "version, author; 'metadata'"),
    (described(body=" \n"), "warning", 5, "expected instructions after the"),
    (described(body="x\n" * 500), "warning", 504, "500 lines, found 500"),
    (described(body="x" * 20_000), "warning", 5, "5000 tokens, found about"),
]


@pytest.mark.parametrize(("text", "severity", "line", "message"), SPECIFICATION)
def test_a_broken_rule_is_found_on_its_line(text: str, severity: str, line: int, message: str) -> None:
    found = [
        finding for finding in findings(text) if finding.level is Level.SPECIFICATION and message in finding.message
    ]

    assert [(finding.severity, finding.line) for finding in found] == [(severity, line)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\nname: tidy\n", "SKILL.md:1: expected a second line '---'"),
        (GOOD + "\udcff", "tidy/SKILL.md:8: expected UTF-8"),
        (GOOD + "<!-- skillopt:begin guidance -->", "expected an end to the protected region"),
    ],
)
def test_what_edits_could_damage_is_not_trained(text: str, message: str) -> None:
    with pytest.raises(SkillError, match=message):
        check_trainable(Skill("tidy", SkillDocument(text)))


@given(
    st.text(alphabet=st.sampled_from("-\n\r:ab[]{}'\" !`$\ufeff\udcffé#<>"), max_size=60),
    st.sampled_from(["{0}", "---\n{0}\n---\n{0}"]),
)
def test_every_finding_names_a_line_of_the_file_in_order(text: str, form: str) -> None:
    document = SkillDocument(form.format(text))

    lines = [finding.line for finding in validate(Skill("a", document))]

    assert lines == sorted(lines)
    assert all(1 <= line <= max(len(document.line_starts) - 1, 1) for line in lines)
