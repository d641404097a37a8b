"""What a run is compared with: the released text, and for leaks the text from before any version."""

from contextlib import closing
from pathlib import Path

from skillopt.project import Selection
from skillopt.runs.history import released_of
from skillopt.runs.plan import make_plan
from skillopt.storage.ledger import Ledger
from tests.fakes.drafts import accepted, run_events
from tests.fakes.projects import SKILL


def test_a_run_knows_the_text_from_before_the_versions_of_all_earlier_runs(folder: Path) -> None:
    run_events(folder, accepted("A."))
    run_events(folder, accepted("A.", "B."), seed=1)
    run_events(folder, seed=2)
    with closing(Ledger.open(folder)) as ledger:
        plan = make_plan(Selection("rows", {"seed": 2}, folder=folder))
        released = released_of(plan, ledger, ledger.runs()[0])
    assert released.first is not None
    assert released.first.text == SKILL
