"""The model that plays the agent goes by what the tools say, and stops where they say something else."""

import pytest

from tests.fakes.host_player import Step, next_step

JOB = "20260102-030405-beef"
RUNNING = f"# Job {JOB}: running\n\nevaluate rows, started now.\n"
LISTED = "| skill | versions | newest | score on val | suite | folder |\n| rows | 0 | none |  | s.jsonl | skills/rows |"
STARTED = Step("", "start_job", {"name": "rows"}, f"Job `{JOB}` runs for rows.")


def test_it_measures_the_skill_that_the_list_names() -> None:
    step = next_step("", (Step("", "list_skills", {}, LISTED),))
    assert (step.tool, step.arguments) == (
        "start_job",
        {"name": "rows", "work": "evaluate", "split": "train", "max_minutes": 15, "wait_seconds": 50},
    )


def test_it_looks_at_a_job_until_it_has_ended() -> None:
    looked = next_step("", (STARTED,))
    assert (looked.tool, looked.arguments) == ("job_status", {"job_id": JOB, "wait_seconds": 50})
    assert next_step("", (STARTED, Step("", "job_status", {"job_id": JOB}, RUNNING))) == looked
    done = Step("", "job_status", {"job_id": JOB}, RUNNING.replace("running", "done"))
    assert next_step("", (STARTED, done)).tool == "get_evidence"


def test_it_needs_no_look_at_a_job_that_ended_while_its_start_waited() -> None:
    done = RUNNING.replace("running", "done")
    ended = Step("", "start_job", {"name": "rows"}, f"Job `{JOB}` runs for rows.\n\n{done}")
    assert next_step("", (ended,)).tool == "get_evidence"


def test_it_copies_the_anchor_that_a_refusal_names_into_the_edit_that_was_refused() -> None:
    edits = [{"op": "add"}, {"op": "replace", "anchor": "- Trim every cell."}]
    refusal = "## Edit 2: not possible\n\n`replace`\n\nfound it nowhere; the nearest text is '- Trim spaces.'"
    step = next_step("", (STARTED, Step("", "propose_edits", {"name": "rows", "edits": edits}, refusal)))
    assert step.tool == "propose_edits"
    assert (step.arguments or {})["edits"] == [{"op": "add"}, {"op": "replace", "anchor": "- Trim spaces."}]


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        ("list_skills", "No skill here."),
        ("start_job", "Error: no suite"),
        ("job_status", RUNNING.replace("running", "failed")),
        ("job_status", RUNNING.replace("running", "done").replace("evaluate", "propose")),
        ("get_evidence", "Nothing is measured yet."),
        ("propose_edits", "## Edit 1: not possible\n\nit adds a link"),
    ],
)
def test_it_stops_and_says_why_where_a_tool_says_what_it_cannot_use(tool: str, answer: str) -> None:
    step = next_step("", (STARTED, Step("", tool, {}, answer)))
    assert step.tool == ""
    assert step.words.startswith("I stop: expected")
    assert answer in step.words
