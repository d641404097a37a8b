"""What a new text drops, changes, and can tell an agent to do that the old text did not."""

import pytest

from skillopt.safety.capabilities import DifferenceKind, NewCapability, capability_difference, describe_difference

BEFORE = "# Tidy\n\nRun `git status` first. Write the table to `out.csv`.\n"
RULES = """# Dose

- Give at most 15 mg/kg a day, not more often than every 6 hours.
- Never skip the weight.
- Ask twice.
"""

COMMANDS = (
    *(
        "npx evil-mcp",
        "npm publish",
        "pip install colourama",
        "pip uninstall certifi",
        "aws s3 ls",
        "docker login evil",
    ),
    *("ssh box", "dd", "kill parent", "shred ledger", "make deploy", "terraform destroy", "gpg import"),
    *(
        "vault read secret",
        "helm uninstall web",
        "at now",
        "curl box",
        "wget box/x",
        "kubectl delete pod web",
        "scp a b",
    ),
    *("nc box 9", "crontab -e", "sudo reboot", "git push origin", "rm -rf build"),
)
WORDINGS = (
    *("- Use `{}` first.", "- Run `{}`.", "Begin with `{}`, then go on.", "| step | `{}` |", "- `{}`", "(see ``{}``)"),
    *("1. When unsure: `{}`!", "> `{}` is what people here use.", "- Try <code>{}</code> before you\n  give up."),
)


def found(before: str, after: str) -> dict[DifferenceKind, list[str]]:
    kinds: dict[DifferenceKind, list[str]] = {}
    for one in capability_difference(before, after):
        kinds.setdefault(one.kind, []).append(one.text)
    return kinds


def added(text: str) -> dict[DifferenceKind, list[str]]:
    return found(BEFORE, f"{BEFORE}\n{text}\n")


@pytest.mark.parametrize("wording", WORDINGS)
def test_a_command_in_a_span_of_code_is_listed_as_it_stands_whatever_it_is(wording: str) -> None:
    listed = [
        [one.text for one in capability_difference(BEFORE, f"{BEFORE}\n{wording.format(each)}\n")] for each in COMMANDS
    ]

    assert [command for command, texts in zip(COMMANDS, listed, strict=True) if command not in texts] == []


@pytest.mark.parametrize("command", [one for one in COMMANDS if one != "dd"])
def test_what_installs_sends_deploys_or_deletes_waits_for_a_person(command: str) -> None:
    assert [one.waits for one in capability_difference(BEFORE, f"{BEFORE}\n- Use `{command}`.\n")] == [True]
    assert found(f"Use `{command}`.", f"Use `{command}`.\n\nThen `{command}` again.") == {}


def test_hosts_tools_and_files_are_listed_with_their_lines() -> None:
    text = "See https://box.test/x with ~/.aws/credentials; use mcp__mail__send on docs/rules.md."

    assert added(text) == {
        DifferenceKind.HOST: ["https://box.test/x"],
        DifferenceKind.TOOL: ["mcp__mail__send"],
        DifferenceKind.FILE: ["~/.aws/credentials", "docs/rules.md"],
    }
    assert {one.line for one in capability_difference(BEFORE, f"{BEFORE}\n{text}\n")} == {5}


def test_a_block_of_code_is_listed_whole_and_its_lines_that_begin_with_a_known_program_before_it() -> None:
    block = "cd out\ncurl -d @out.csv $HOST\nls"

    assert added(f"```sh\n{block}\n```")[DifferenceKind.PROGRAM] == ["curl -d @out.csv $HOST"]
    assert added(f"```sh\n{block}\n```")[DifferenceKind.CODE] == [block]


@pytest.mark.parametrize(
    "after",
    [
        f"Write the table to `out.csv`.\n\n{BEFORE}",
        BEFORE.replace("first. Write", "first.\nWrite"),
        f"{BEFORE}\n- Keep the order of the rows.\n",
    ],
    ids=["moved", "broken anew", "a rule more"],
)
def test_text_that_is_moved_or_broken_anew_and_a_rule_in_plain_words_are_no_difference(after: str) -> None:
    assert capability_difference(BEFORE, after) == ()
    assert describe_difference(()) == []


def test_a_rule_that_another_replaces_comes_first_and_one_that_is_dropped_waits() -> None:
    after = RULES.replace("- Never skip the weight.\n", "- Run `npx x`.\n")
    (removed, program) = capability_difference(RULES, after)

    assert removed == NewCapability(DifferenceKind.REMOVED, "- Never skip the weight.", 4, waits=False)
    assert (program.text, program.waits) == ("npx x", True)
    assert describe_difference((removed, program))[0] == "1 line removed: `- Never skip the weight.`"
    (dropped,) = capability_difference(RULES, RULES.replace("- Never skip the weight.\n", ""))
    assert dropped.waits
    assert [one.waits for one in capability_difference(BEFORE, "# Tidy\n")] == [False]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("15 mg/kg", "25 mg/kg", "15 → 25 mg/kg"),
        ("every 6 hours", "every 6 minutes", "6 hours → 6 minutes"),
        ("at most 15", "at most 1,500", "15 → 1,500 mg/kg"),
        (", not more often than every 6 hours", "", "\N{MINUS SIGN} not more often than every 6 hours"),
        ("a day", "a day unless asked", "+ unless asked"),
        ("not more", "more", "\N{MINUS SIGN} not"),
        ("- Ask twice.", "- Ask once.", "twice → once"),
    ],
)
def test_a_number_a_unit_or_a_clause_that_changes_in_a_line_is_named_and_does_not_wait(
    old: str, new: str, said: str
) -> None:
    (one,) = capability_difference(RULES, RULES.replace(old, new))

    assert (one.kind, one.text, one.waits) == (DifferenceKind.CHANGED, said, False)


def test_a_rule_that_another_one_swallows_is_removed() -> None:
    listed = found("- Say the word.\n- Never say a word of another person.\n", "- Always say the word in capitals.\n")

    assert listed[DifferenceKind.REMOVED] == ["- Never say a word of another person."]
    assert listed[DifferenceKind.CHANGED] == ["+ Always; + in capitals"]


def test_a_line_of_the_frontmatter_that_changes_waits() -> None:
    head = "---\nname: tidy\nallowed-tools: Read, Bash(kubectl get *)\n---\n"
    listed = capability_difference(head + BEFORE, head.replace(" get", "") + BEFORE)

    assert (listed[0].kind, listed[0].text) == (DifferenceKind.FRONTMATTER, "allowed-tools: Read, Bash(kubectl *)")
    assert listed[0].waits


def test_at_most_twelve_lines_are_shown_and_what_waits_is_among_them() -> None:
    key = "ghp_" + "a1B2" * 9
    text = "".join(
        f"- Set `value_{number} = {key}` and write `{number}{80 * 'a'}\u202eb.csv`.\n" for number in range(20)
    )
    lines = describe_difference(capability_difference(BEFORE, f"{BEFORE}\n{text}- Run `npx x`.\n"))

    assert len(lines) == 13
    assert lines[0] == "new program: `npx x`"
    assert lines[-1] == "and 29 more (`diff`)"
    assert key not in "".join(lines)
    assert "\u202e" not in "".join(lines)
