"""An offer made up for tests of the text of pull requests."""

from skillopt.figures import Headline
from skillopt.gate.decide import Outcome
from skillopt.gate.grades import Grade
from skillopt.loop.events import EditScreened
from skillopt.reports.offer import OfferClaim, OfferedEdit, OfferView
from skillopt.skills.edits import Edit, Op
from skillopt.versions.commit_message import Version
from tests.fakes.views import verdict

KEY = "0123456789ab"
_HEAD = "---\nname: rows\ndescription: Cleans tables.\n---\n# Rows\n\n## Values\n\n- Trim spaces.\n"


def offered_edit(number: int, text: str) -> OfferedEdit:
    """Make an edit that adds a line."""
    line = f"- {text}"
    edit = Edit(
        f"e{number}",
        Op.ADD,
        section="Values",
        content=line,
        rationale=f"Because of {text}",
        tasks=("train1", "train2"),
    )
    found = EditScreened(1, edit, 2, 3, 3, kept=True, reason="tasks fail without it")
    return OfferedEdit(
        number,
        f"{KEY}/{number}",
        edit,
        fixed=("train1",),
        ablation=found,
    )


def offer(*texts: str, by_people: str = "") -> OfferView:
    """Make an offer of edits with these texts, and of a line by a person."""
    edits = tuple(offered_edit(number, text) for number, text in enumerate(texts, 1))
    taught = _HEAD + "".join(f"{' '.join(edit.edit.content.split())}\n" for edit in edits)
    after = f"{taught}- {by_people}\n" if by_people else taught
    claim = OfferClaim(Headline(2, 7, 8, 0.4, 0.9, "val", 0.22, 0.87), verdict(Outcome.ACCEPT))
    said = {"Val-Before": "2 of 8", "Val-After": "7 of 8", "Gain": "+62 points (90%: +22 to +87)"}
    said |= {"Cost-USD": "1.25", "Rollouts": "120", "Skillopt-Run": "run1"}
    version = Version("a" * 40, "b" * 40, "rows: add a rule", "", "", tuple(said.items()), "", "")
    return OfferView(
        "rows",
        "skillopt/rows",
        "main",
        "b" * 40,
        "a" * 40,
        _HEAD,
        after,
        versions=(version,),
        edits=edits,
        claim=claim,
        grade=Grade.PROVEN,
    )
