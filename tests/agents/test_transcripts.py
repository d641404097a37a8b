"""The pages of sessions in docs/examples/: what stands for what differs, and that users are told of the set-up."""

from tests.agents.sessions import WAIT, WAYS
from tests.agents.transcripts import PAGES, normalised


def test_what_differs_from_run_to_run_gets_names_and_what_is_the_same_the_same_name() -> None:
    commit = "0123456789" + "ab" * 15
    text = (
        f"Job `20260102-030405-beef` of /tmp/x, 2026-01-02T03:04:05+00:00: {commit}, base `0123456789ab`\n"
        f"20260102-030406-cafe follows 20260102-030405-beef: {commit[:10]} on ffffffffff, 24 calls, 0.375 -> 0.688"
    )
    assert normalised(text, "/tmp/x") == (  # noqa: S108 - nothing is written there
        "Job `JOB-1` of PROJECT, TIME: COMMIT-1, base `ID-1`\n"
        "JOB-2 follows JOB-1: COMMIT-1 on COMMIT-2, 24 calls, 0.375 -> 0.688"
    )


def test_a_text_without_any_of_that_stays_as_it_is() -> None:
    text = "score 0.750, 0% of 8 tasks passed on 2024-02-13; index 23917e6..890efb3"
    assert normalised(text) == text


def test_users_are_told_all_that_the_sessions_are_set_up_with() -> None:
    page = (PAGES["codex, registered"].parent.parent / "in-your-agent.md").read_text(encoding="utf-8")
    assert [name for name, value in WAIT.items() if f"export {name}={value}\n" not in page] == []
    for way in WAYS.values():
        commands = [" ".join((way.client, *words)).format(market=".") for words in way.set_up]
        assert [words for words in (*commands, *way.flags) if words not in page] == []
