"""A suite to start from: examples as comments and no task, so that nothing runs before a person has written some."""

from typing import Final

__all__ = ["scaffold_suite"]

_SCAFFOLD: Final = """\
# Tasks for the skill NAME: what an agent is asked to do with it, and how the result is checked. No task is here yet.
# Write your own in the form of the three examples, take the marks "# " away and delete the line "tasks: []"; or let
# `skillopt write-tasks NAME` draft some. All keys and all kinds of checks: skillopt docs suite-format. 8 tasks or more
# are good to begin with; leave out what the agent does well without the skill.
tasks: []
# tasks:
#   - id: an-answer                  # a text that is the right answer, or a pattern in it
#     prompt: |
#       What a user would ask, in a user's words. Name neither the skill nor its rules.
#     verifier: {kind: regex, pattern: "the words a right answer has"}
#   - id: a-file                     # a file that is given, and one that is to be written
#     prompt: Read input.json and write what is asked for to output.json.
#     files: [{path: input.json, text: '{"a": 1}'}]
#     verifier: {kind: json, file: output.json, value: {"a": 2}}
#   - id: in-words                   # what only a model can judge (the setting `judge`), one criterion a line
#     prompt: Explain to a new colleague how this works.
#     verifier:
#       kind: rubric
#       criteria:
#         - One thing that must hold, so exact that two people would judge alike.
"""


def scaffold_suite(skill: str) -> str:
    """Return the text of a suite without tasks; reading it says that there are none."""
    return _SCAFFOLD.replace("NAME", skill)
