"""An offer made up for tests of the text of pull requests."""

from skillopt.gate.decide import Outcome
from skillopt.gate.grades import Grade
from skillopt.gate.headline import Headline
from skillopt.reports.offer import OfferClaim, OfferedEdit, OfferedVersion, OfferView, lines_by_people
from skillopt.reports.view import Ablation
from skillopt.versions.commit_message import Version
from tests.fakes.views import verdict

KEY = "0123456789ab"
_HEAD = "---\nname: rows\ndescription: Cleans tables.\n---\n# Rows\n\n## Values\n\n- Trim spaces.\n"


def offered_edit(number: int, text: str) -> OfferedEdit:
    """Make an edit that adds a line."""
    line = f"- {text}"
    found = Ablation(2, 3, 3)
    return OfferedEdit(
        number,
        f"{KEY}/{number}",
        "add",
        "Values",
        "",
        line,
        rationale=f"Because of {text}",
        tasks=("train1", "train2"),
        fixed=("train1",),
        ablation=found,
    )


def offer(*texts: str, by_people: str = "", author: str = "Anna") -> OfferView:
    """Make an offer of edits with these texts, and of a line by a person."""
    edits = tuple(offered_edit(number, text) for number, text in enumerate(texts, 1))
    taught = _HEAD + "".join(f"{' '.join(edit.after.split())}\n" for edit in edits)
    after = f"{taught}- {by_people}\n" if by_people else taught
    people = (Version("c" * 40, "b" * 40, f"Say: {by_people}", "", "", (), "", author),) if by_people else ()
    claim = OfferClaim(Headline(2, 7, 8, 0.4, 0.9, "val"), verdict(Outcome.ACCEPT), "5 better, 3 equal, 0 worse")
    version = OfferedVersion("a" * 40, "rows: add a rule", "2 of 8 → 7 of 8 tasks passed", None, 1.25, 120, "run1")
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
        by_people=lines_by_people(_HEAD, after, [(_HEAD, taught)]),
        people=people,
        claim=claim,
        grade=Grade.PROVEN,
    )
