"""Which removals are proposed, and what the pull request says: real git, pull requests in a folder."""

from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.audit.findings import AuditedSkill, AuditReport, SkillCosts
from skillopt.audit.offering import offer_removals, removal_body
from skillopt.gate.skill_effect import SkillEffect
from skillopt.nightly.folder_forge import FolderForge
from skillopt.project import Project, Selection
from tests.fakes.projects import git

IDLE = AuditedSkill(
    skill="rows",
    path="skills/rows",
    effect=SkillEffect.IDLE,
    grade="proven here",
    reason="its removal loses at most 0.04 of the score on these 8 tasks",
    suite="suites/rows.jsonl",
    tasks=8,
    pairs=60,
    passed_with=0.5,
    passed_without=0.5,
    gain=0.0,
    low=-0.04,
    high=0.04,
    listing_tokens=20,
    costs=SkillCosts(tokens=1500.0, turns=0.5),
    removable=True,
    target="claude-code/claude-sonnet-5",
)


def report_of(folder: Path, **changes: object) -> AuditReport:
    digest = Project.find(folder).target(Selection("rows", folder=folder)).skill().digest
    row = replace(replace(IDLE, digest=digest), **changes)  # type: ignore[arg-type]  # the tests name its fields
    return AuditReport((row,), error=0.1, loss=0.1, stopped="", paid_rollouts=0, spent={})


def forge_of(folder: Path) -> FolderForge:
    return FolderForge(folder.parent / "pull-requests")


@pytest.mark.parametrize("effect", [SkillEffect.HELPS, SkillEffect.IDLE])
def test_only_rows_that_are_removable_are_proposed(folder: Path, effect: SkillEffect) -> None:
    removable = effect is SkillEffect.IDLE
    report = report_of(folder, effect=effect, removable=removable)
    offer = offer_removals(Project.find(folder), report, forge_of(folder), None)
    assert offer.skills == (("rows",) if removable else ())
    assert bool(offer.commit) == removable


def test_a_skill_with_another_skill_in_its_folder_is_kept(folder: Path) -> None:
    inner = folder / "skills" / "rows" / "inner"
    inner.mkdir()
    (inner / "SKILL.md").write_text("---\nname: inner\ndescription: Inside.\n---\n# Inside\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Nest")
    offer = offer_removals(Project.find(folder), report_of(folder), forge_of(folder), None)
    assert (offer.skills, offer.commit) == ((), "")
    assert "the skill inner or its tasks are in its folder" in offer.notes[0]


@pytest.mark.parametrize(
    ("links", "named"),
    [
        ({"skills/kept/shared.md": "../rows/SKILL.md"}, "skills/kept/shared.md"),
        ({"skills/kept/shared": "../rows"}, "skills/kept/shared"),
        ({"skills/kept/shared": "../rows/nothing"}, "skills/kept/shared"),
        ({"skills/rows/on": "../../README.md", "skills/kept/b.md": "../rows/on"}, "skills/kept/b.md"),
        ({"alias": "skills/rows", "skills/kept/own.md": "SKILL.md"}, ""),
    ],
)
def test_a_skill_whose_folder_a_skill_that_stays_links_into_is_kept_and_the_link_named(
    folder: Path, links: dict[str, str], named: str
) -> None:
    (folder / "skills" / "kept").mkdir()
    (folder / "skills" / "kept" / "SKILL.md").write_text("---\nname: kept\ndescription: Stays.\n---\n# Kept\n")
    (folder / "README.md").write_text("Read this.\n")
    for name, led in links.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(led)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Link")
    offer = offer_removals(Project.find(folder), report_of(folder), forge_of(folder), None)
    if named:
        assert (offer.skills, offer.commit) == ((), "")
        assert f"{named} of the skill kept is a link into its folder" in offer.notes[0]
    else:
        assert offer.skills == ("rows",)
        assert git(folder, "ls-tree", "-r", "--name-only", offer.commit, "skills").split() == [
            "skills/kept/SKILL.md",
            "skills/kept/own.md",
        ]


def test_a_report_of_a_folder_that_is_no_skill_deletes_nothing(folder: Path) -> None:
    for path in ("suites", "../project/suites", ".", ".git"):
        offer = offer_removals(Project.find(folder), report_of(folder, path=path), forge_of(folder), None)
        assert (offer.skills, offer.commit) == ((), "")


def test_an_audit_that_ended_early_leaves_the_open_pull_request_as_it_is(folder: Path) -> None:
    first = offer_removals(Project.find(folder), report_of(folder), forge_of(folder), None)
    early = replace(report_of(folder, removable=False), stopped="the cap of 4 rollouts is reached")
    offer = offer_removals(Project.find(folder), early, forge_of(folder), None)
    assert (offer.url, offer.action) == (first.url, "")
    assert "ended early" in offer.notes[0]
    assert [one.state for one in forge_of(folder).pull_requests(offer.branch)] == ["open"]


def test_a_removal_that_was_declined_for_one_target_is_proposed_for_another(folder: Path) -> None:
    project, forge = Project.find(folder), forge_of(folder)
    offer = offer_removals(project, report_of(folder), forge, None)
    forge.close(forge.pull_requests(offer.branch)[0].number)
    again = offer_removals(project, report_of(folder), forge, None)
    assert (again.skills, again.notes) == ((), ("rows: its removal is not proposed: #1 was closed by people",))
    other = offer_removals(project, report_of(folder, target="claude-code/claude-opus-5"), forge, None)
    assert (other.skills, other.action) == (("rows",), "opened")


def test_the_text_says_what_removal_loses_and_saves_and_names_nobody() -> None:
    hostile = replace(IDLE, skill="rows @team <b>#1</b>|x", high=-0.02)
    text = removal_body([IDLE, hostile], ["suites/rows.jsonl"])
    assert "found 2 skills idle" in text
    assert "falls by at most 0.04" in text
    assert "| <code>rows</code> | 0.04 | 50% → 50% | 60 | 8 | +1,500 | +0.5 | 20 |" in text
    assert "@team" not in text
    assert "<b>" not in text
    row = next(line for line in text.splitlines() if "team" in line)
    assert row.count("|") == 9  # of eight cells


@pytest.mark.parametrize(
    ("quoted", "proposed"),
    [
        *(("{text}", ()), ("{crlf}", ()), ("{text}\nNo, thanks: it is used in March.", ())),
        *(("> {mark}\n\n<!-- skillopt audit: 0123456789abcdef -->", ("rows",)), ("{mark}", ("rows",))),
        ("See {mark}\n<!-- skillopt audit: 0123456789abcdef -->", ("rows",)),
        ("<!-- skillopt removal: 0123456789abcdef -->\n<!-- skillopt audit: 0123456789abcdef -->\n{mark}", ("rows",)),
    ],
)
def test_a_decision_is_known_by_whole_marks_as_they_were_written_and_not_where_people_quote_them(
    folder: Path, quoted: str, proposed: tuple[str, ...]
) -> None:
    project, forge = Project.find(folder), forge_of(folder)
    offer = offer_removals(project, report_of(folder), forge, None)
    first = forge.pull_requests(offer.branch)[0]
    mark = next(line for line in first.body.splitlines() if "skillopt removal" in line)
    body = quoted.format(text=first.body, crlf=first.body.replace("\n", "\r\n"), mark=mark)
    forge.update(first.number, first.title, body)
    forge.close(first.number)
    again = offer_removals(project, report_of(folder), forge, None)
    assert again.skills == proposed
