"""Whole sessions in the real clients, with the real server, jobs, gate and git; only the models are played.

The model that plays the agent knows nothing but what the tools answer it (tests.fakes.host_player).
"""

import os
from collections.abc import Callable

import pytest

from skillopt.contrib.history.claude_sessions import ClaudeSessions
from skillopt.contrib.history.codex_sessions import CodexSessions
from skillopt.contrib.history.past_session import LineTally, SessionKind, find_logs, read_log
from skillopt.contrib.history.requests import session_requests
from tests.agents.sessions import WAYS, Session, make_place, run_session
from tests.agents.transcripts import PAGES, page_of, without_sizes
from tests.fakes.host_player import BAD_RULE, GOOD_RULE
from tests.fakes.projects import git

pytestmark = pytest.mark.agents

PREFIXES = {"claude-code, plugin": "mcp__plugin_skillopt_skillopt__{}", "codex, registered": "mcp__skillopt"}
TOOLS = (
    *("list_skills", "read_skill", "rollback_skill", "start_job", "job_status", "cancel_job"),
    *("get_evidence", "propose_edits"),
)
BRANCH = "skillopt/rows"
MOST_TURNS = 14
"""Requests to the model in a whole session with a skill of eight tasks a split."""

MOST_ANSWERED = 20_000
"""Characters of all answers of the tools in it."""


@pytest.fixture(scope="module", params=PAGES)
def session(
    request: pytest.FixtureRequest, agent: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Session:
    way = WAYS[request.param]
    return run_session(agent(way.client), way, make_place(tmp_path_factory.mktemp("session")))


def answers(session: Session, tool: str) -> list[str]:
    return [step.answer for step in session.seen.steps if step.tool == tool]


def test_the_log_that_the_client_kept_is_read_and_left_out_as_headless_and_as_our_own(session: Session) -> None:
    reader = ClaudeSessions if session.way.client == "claude" else CodexSessions
    tally, logs = LineTally(), reader({}, session.project.parent / "home")
    (path,) = (one for one in find_logs(logs.folder, tally) if logs.may_hold(one, (str(session.project),)))
    kept = logs.read(read_log(path, tally), tally, lambda *_: True)

    assert (kept.kind, kept.cwd, kept.branch) == (SessionKind.HEADLESS, str(session.project), "main")
    assert [turn.own for turn in kept.turns] == [True]
    assert "improve" in kept.turns[0].text.lower() or "rows" in kept.turns[0].text
    assert session_requests(kept) == ()
    assert tally.broken == 0


def test_every_tool_is_offered_under_the_name_that_the_client_gives_it(session: Session) -> None:
    prefix = next(prefix for name, prefix in PREFIXES.items() if WAYS[name] == session.way)
    offered = {name: given for name, given in session.seen.offered.items() if name != "Skill"}
    assert offered == {tool: prefix.format(tool) for tool in TOOLS}


def test_the_agent_goes_all_the_way_without_a_question_and_without_an_error(session: Session) -> None:
    used = dict.fromkeys(step.tool for step in session.seen.steps if step.tool != "Skill")
    needed = [tool for tool in used if tool != "job_status"]
    assert needed == ["list_skills", "start_job", "get_evidence", "propose_edits", "read_skill"]
    assert "expected" not in session.ended.stdout


def test_from_registration_to_the_first_version_takes_few_turns_and_little_context(session: Session) -> None:
    assert len(session.turns) <= MOST_TURNS
    assert sum(len(step.answer) for step in session.seen.steps) <= MOST_ANSWERED


def test_the_good_edit_is_committed_and_neither_of_the_bad_ones(session: Session) -> None:
    assert git(session.project, "rev-list", "--count", f"main..{BRANCH}") == "1"
    changed = git(session.project, "diff", "main", BRANCH).splitlines()
    assert [line for line in changed if line.startswith(("+", "-")) and line[:3] not in {"+++", "---"}] == [
        f"+{GOOD_RULE}"
    ]


def test_a_refused_edit_comes_back_with_the_reason_and_is_mended_from_it(session: Session) -> None:
    refusal, begun = answers(session, "propose_edits")
    assert ("1 of 2 edits cannot" in refusal, begun.startswith("Job `")) == (True, True)
    mended = [step for step in session.seen.steps if step.tool == "propose_edits"][-1]
    anchors = [edit.get("anchor") for edit in (mended.arguments or {})["edits"]]
    assert anchors == [None, "- Trim spaces around every value."]


def test_the_edit_that_is_needed_is_kept_and_the_harmful_one_dropped_with_the_reason(session: Session) -> None:
    verdict = next(step.answer for step in reversed(session.seen.steps) if "\ngate: " in step.answer)
    assert ("edit 1 kept: " in verdict, "edit 2 dropped: " in verdict, BAD_RULE in verdict) == (True,) * 3


def test_nothing_that_the_user_has_is_touched(session: Session) -> None:
    assert git(session.project, "status", "--porcelain") == ""
    assert git(session.project, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(session.project, "rev-list", "--count", "main") == "1"
    assert GOOD_RULE not in (session.project / "skills" / "rows" / "SKILL.md").read_text()
    refs = git(session.project, "for-each-ref", "--format=%(refname)").splitlines()
    assert [name for name in refs if name.startswith("refs/heads/")] == ["refs/heads/main", f"refs/heads/{BRANCH}"]


def test_the_last_words_give_the_numbers_that_are_in_git(session: Session) -> None:
    told = dict(
        line.split(": ", 1) for line in git(session.project, "log", "-1", "--format=%(trailers)", BRANCH).split("\n")
    )
    assert f"{told['Val-Before'].split()[0]} → {told['Val-After']} tasks passed" in session.ended.stdout
    for words in (told["Confidence"], git(session.project, "rev-parse", BRANCH)[:10], GOOD_RULE, "Dropped: edit 2, "):
        assert words in session.ended.stdout


def test_nothing_of_val_or_test_reaches_the_agent(session: Session) -> None:
    said = "\n".join(step.answer for step in session.seen.steps)
    assert "train1@example.com" in said
    assert not any(f"{split}{number}" in said for split in ("val", "test") for number in range(8))


def test_the_skill_that_teaches_the_loop_reaches_the_agent_where_the_plugin_is(session: Session) -> None:
    by_plugin = session.way.set_up[0][0] == "plugin"
    assert ("propose; the gate decides." in session.seen.asked) == by_plugin


def test_the_page_is_what_a_session_gives(session: Session) -> None:
    (page,) = (page for name, page in PAGES.items() if WAYS[name] == session.way)
    text = page_of(session)
    if "WRITE_TRANSCRIPTS" in os.environ:
        page.write_text(text, encoding="utf-8")
    recorded = page.read_text(encoding="utf-8")
    assert without_sizes(recorded) == without_sizes(text), "run `make transcripts` if this is meant to change"
