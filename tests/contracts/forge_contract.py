"""What every forge must do."""

import pytest

from skillopt.protocols import Forge


class ForgeContract:
    """Inherit and give `forge`, whose branches `skillopt/rows` and `skillopt/dates` exist, and `remarks`."""

    @pytest.fixture
    def forge(self) -> Forge:
        raise NotImplementedError

    def remarks(self, forge: Forge, number: int) -> list[str]:
        """List what was said under a pull request."""
        raise NotImplementedError

    def test_it_names_the_branch_that_pull_requests_go_to_and_that_they_may_be_opened(self, forge: Forge) -> None:
        facts = forge.facts()
        assert facts.default_branch
        assert (facts.may_open, facts.reason) == (True, "")
        assert forge.pull_requests(facts.default_branch) == ()

    def test_a_branch_has_one_open_at_a_time(self, forge: Forge) -> None:
        opened = forge.create("skillopt/rows", forge.facts().default_branch, "Title", "Body")
        assert forge.create("skillopt/rows", forge.facts().default_branch, "Another", "Body") == opened
        assert len(forge.pull_requests("skillopt/rows")) == 1

    def test_a_draft_is_opened_as_one(self, forge: Forge) -> None:
        opened = forge.create("skillopt/rows", forge.facts().default_branch, "Title", "Body", draft=True)
        ordinary = forge.create("skillopt/dates", forge.facts().default_branch, "Title", "Body")
        assert (opened.draft, ordinary.draft) == (True, False)
        assert forge.pull_requests("skillopt/rows") == (opened,)

    def test_title_and_body_are_changed_in_place(self, forge: Forge) -> None:
        opened = forge.create("skillopt/rows", forge.facts().default_branch, "Title", "Body")
        forge.update(opened.number, "New title", "x" * 65_536)
        (found,) = forge.pull_requests("skillopt/rows")
        assert (found.number, found.title, len(found.body)) == (opened.number, "New title", 65_536)

    def test_a_draft_becomes_ready_and_a_draft_again_and_otherwise_stays_what_it_is(self, forge: Forge) -> None:
        number = forge.create("skillopt/rows", forge.facts().default_branch, "Title", "Body", draft=True).number
        seen = []
        for draft in (None, False, None, True, True):
            forge.update(number, "Title", "Body", draft=draft)
            (found,) = forge.pull_requests("skillopt/rows")
            seen.append((found.draft, found.title))
        assert seen == [(draft, "Title") for draft in (True, False, False, True, True)]

    def test_what_it_said_itself_is_no_comment_of_people(self, forge: Forge) -> None:
        number = forge.create("skillopt/rows", forge.facts().default_branch, "Title", "Body").number
        forge.comment(number, "news", "/skillopt drop 1")
        assert forge.comments(number) == ()

    def test_a_topic_has_one_remark(self, forge: Forge) -> None:
        number = forge.create("skillopt/rows", forge.facts().default_branch, "Title", "Body").number
        for topic, text in (("news", "first"), ("other", "second"), ("news", "third"), ("news", "third")):
            forge.comment(number, topic, text)
        assert [text.splitlines()[-1] for text in self.remarks(forge, number)] == ["third", "second"]

    def test_after_it_was_closed_another_is_opened(self, forge: Forge) -> None:
        first = forge.create("skillopt/rows", forge.facts().default_branch, "Title", "Body")
        forge.close(first.number)
        assert forge.pull_requests("skillopt/rows")[0].state == "closed"
        second = forge.create("skillopt/rows", forge.facts().default_branch, "Again", "Body")
        found = forge.pull_requests("skillopt/rows")
        assert [(one.number, one.state) for one in found] == [(second.number, "open"), (first.number, "closed")]
