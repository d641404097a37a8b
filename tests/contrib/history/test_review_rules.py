"""Rules of reviewers: their checks fail on the file before and pass on the file after, and say nothing of a person."""

import json
import re
from typing import Any

from skillopt.contrib.history.redaction import Redaction
from skillopt.contrib.history.remarks import Remark, is_formatting, settled_by
from skillopt.contrib.history.review_rules import ReviewRule, SettledRemark

HEAD = "import time\n\n\ndef wait(server):\n"
SAID = "Please use wait_for instead of sleep"


def settled(number: int, before: str, after: str, **fields: object) -> SettledRemark:
    remark = Remark(
        **{"body": SAID, "path": "a.py", "id": str(number), "pull": number, "author": "ada", "line": 5, **fields},
        before=HEAD + before,
        after=HEAD + after,
    )
    return SettledRemark(remark, *settled_by(remark))


def rule(*several: SettledRemark) -> ReviewRule:
    return ReviewRule(several, Redaction(lambda _: ()))


def options(one: ReviewRule) -> list[dict[str, Any]]:
    verifiers = [json.loads(task.verifier.options) for task, _ in one.tasks()]
    return [each["checks"][0]["options"] if "checks" in each else {} for each in verifiers]


def test_what_all_changes_took_away_must_be_absent_even_where_the_file_has_it_elsewhere() -> None:
    stays = "    pass  # so far away\n" * 9 + "    time.sleep(9)\n"
    found = rule(
        settled(1, "    time.sleep(1)\n    server.ask()\n", "    wait_for(server)\n    server.ask()\n"),
        settled(
            2,
            f"    time.sleep(2)\n{stays}",
            f"    wait_for(server)\n{stays}",
        ),
    )
    for (task, notes), checked in zip(found.tasks(), options(found), strict=True):
        assert checked["absent"] is True
        assert re.search(checked["pattern"], task.files[0].content.decode())
        assert notes[1] == "the check fails on the file before and passes on the file after"
    assert found.text == SAID


def test_what_all_changes_brought_must_be_there_where_nothing_common_went() -> None:
    found = rule(
        settled(1, "    server.one()\n", "    wait_for(server.one)\n"),
        settled(2, "    return server\n", "    wait_for(server)\n    return server\n"),
    )
    assert [(one["pattern"], "absent" in one) for one in options(found)] == [(r"\bwait_for\b", False)] * 2


def test_a_pattern_of_one_change_or_without_a_word_of_the_reviewers_is_no_check() -> None:
    found = rule(settled(1, "    a = b\n", "    c = b\n"), settled(2, "    a = d\n", "    c = d\n"))
    assert options(found) == [{}, {}]
    assert all(task.verifier.judged for task, _ in found.tasks())


def test_a_request_keeps_what_it_is_about_and_loses_what_the_reviewer_will_say() -> None:
    about = {"title": "Wait for the server", "description": "It was slow.\nNow with sleep instead of wait_for."}
    one, other = (settled(at, f"    sleep({at})\n", "    wait_for()\n", **about) for at in (1, 2))
    task = next(rule(one, other).tasks())[0]
    assert task.prompt.startswith("Wait for the server\n\nIt was slow.\n\nThis change is under way. `a.py` is")


def test_a_formatters_change_is_told_from_one_of_code() -> None:
    assert is_formatting("f(a,\n  b,\n)", "f(a, b)")
    assert is_formatting("import b\nfrom a import c\n", "from a import c\nimport b\n")
    assert not is_formatting("import b", "import c")
