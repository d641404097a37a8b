"""The command `nightly` as a whole: check, train and offer, of which training has a process without tokens."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from skillopt.actions.nightly.check import check_night
from skillopt.actions.nightly.offer import offer_night
from skillopt.errors import InfrastructureError, UsageError
from skillopt.execution.credentials import run_without_credentials
from skillopt.nightly.night import Nightly
from skillopt.nightly.offer_folder import OFFERS
from skillopt.project import Project
from skillopt.storage.locks import state_folder

__all__ = ["nightly"]

_TRAIN: Final = (sys.executable, "-P", "-m", "skillopt", "nightly", "train")
_INTERRUPTED: Final = 130


def nightly(
    options: Sequence[str] = (), *, flags: Mapping[str, object] | None = None, folder: Path | None = None
) -> Nightly:
    """Train every skill that is due, the most promising first, and bring all pull requests up to date."""
    here = folder or Path.cwd()
    project = Project.find(here)
    place = state_folder(project.root)
    with tempfile.TemporaryDirectory(prefix="night-", dir=place) as night:
        state, out = Path(night, "state.json"), Path(night, "offers")
        check_night(state, flags=flags, folder=here)
        code = run_without_credentials([*_TRAIN, "--state", str(state), "--out", str(out), *options], here)
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        if not (out / OFFERS).is_file():
            if code == UsageError.exit_code:
                raise UsageError("nothing was trained, for the reason above")
            raise InfrastructureError(f"training ended with {code} and left no result; see above, and run this again")
        return offer_night(out, flags=flags, project=here)
