"""The skill and the task of the tests that run real agents."""

from skillopt.protocols import RolloutRequest
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import File, Task, VerifierSpec

HEAD = "---\nname: rows\ndescription: Cleans tables.\n---\n# Rows\n\n"
RULE = "- Write e-mail addresses in lower case.\n"
TASK = Task("t1", "Clean input.csv.", VerifierSpec("table"), (File("input.csv", b"id,email\n1,ANN@Example.com\n"),))


def ask(body: str, task: Task = TASK, head: str = HEAD) -> RolloutRequest:
    """Ask for the task with a skill of these rules."""
    return RolloutRequest(Skill("rows", SkillDocument(head + body)), task)
