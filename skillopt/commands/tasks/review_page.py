"""The review page of candidates for tasks, for the command `serve`: what it shows, and what its buttons do."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.commands.tasks.candidates import (
    approve_candidate,
    drop_candidates,
    edit_candidate,
    skills_with_candidates,
    waiting_candidates,
)
from skillopt.errors import SkilloptError
from skillopt.project import Project
from skillopt.reports.html import ReviewedEntry, render_review_page, review_policy
from skillopt.reports.local_server import Answer
from skillopt.safety.escaping import escape_terminal
from skillopt.storage.locks import review_lock

__all__ = ["ReviewPages"]

_PATH: Final = re.compile(r"/review/([a-z0-9]+(?:-[a-z0-9]+)*)")


class _Asked(BaseModel):
    """What a button of the page sends."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    action: Literal["approve", "save", "drop"]
    id: str = Field(max_length=200)
    block: str = Field(max_length=900_000)
    stamp: str = Field(max_length=64)


class ReviewPages:
    """The candidates of a project by path.

    Args:
        project: Whose they are.
    """

    def __init__(self, project: Project) -> None:
        self._project = project

    def waiting(self) -> list[tuple[str, int]]:
        """List the skills whose candidates wait, and how many."""
        found = [
            (skill, len(waiting_candidates(self._project, skill).entries))
            for skill in skills_with_candidates(self._project)
        ]
        return [(skill, count) for skill, count in found if count]

    def answer(self, path: str) -> Answer | None:
        """Give the page at a path, None where there is none."""
        found = _PATH.fullmatch(path)
        if found is None or found[1] not in skills_with_candidates(self._project):
            return None
        waiting = waiting_candidates(self._project, found[1])
        entries = [ReviewedEntry(entry.id, entry.block, entry.why) for entry in waiting.entries]
        return Answer(render_review_page(waiting.skill, entries, waiting.stamp), policy=review_policy())

    def act(self, path: str, asked: Mapping[str, object]) -> Answer | None:
        """Approve, edit or drop a candidate; the answer is the new stamp and what was done, or why not."""
        found = _PATH.fullmatch(path)
        if found is None or found[1] not in skills_with_candidates(self._project):
            return None
        try:
            wanted = _Asked.model_validate(asked)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return _refused(HTTPStatus.BAD_REQUEST, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        try:
            # One thing is done at a time, by whatever process, so that none is done on a state that another has left.
            with review_lock(self._project.root):
                if waiting_candidates(self._project, found[1]).stamp != wanted.stamp:
                    return _refused(HTTPStatus.CONFLICT, "the candidates have changed since; load the page again")
                words = self._do(found[1], wanted)
                return Answer(f"{waiting_candidates(self._project, found[1]).stamp}\n{words}\n", "plain")
        except (SkilloptError, OSError) as error:
            return _refused(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))

    def _do(self, skill: str, wanted: _Asked) -> str:
        if wanted.action == "drop":
            return f"Dropped; {drop_candidates(self._project, skill, [wanted.id])} wait."
        if wanted.action == "save":
            edit_candidate(self._project, skill, wanted.id, wanted.block)
            return "Saved; not a task yet."
        accepted = approve_candidate(self._project, skill, wanted.id, wanted.block)
        return f"A task now; {accepted.waiting} wait."


def _refused(status: HTTPStatus, why: str) -> Answer:
    return Answer(f"{escape_terminal(why)}\n", "plain", status=status)
