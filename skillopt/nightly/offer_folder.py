"""What a night hands over to whoever pushes it: offers and results as JSON, branches as a git bundle, reports.

`nightly train` writes the folder without a token; `nightly offer` reads it with one, and believes none of it: what is
pushed is checked against the remote and the default branch.
"""

import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.errors import UsageError
from skillopt.nightly.dashboard import NightRecord
from skillopt.nightly.night import Nightly
from skillopt.nightly.posting import BranchOffer, PostedAnswer

__all__ = ["BUNDLE", "OFFERS", "REPORT", "OfferFolder", "SkillOffers", "make_folder", "read_offers", "write_offers"]

BUNDLE: Final = "bundle"
OFFERS: Final = "offers.json"
REPORT: Final = "report"
"""Name of the folder with reports of runs, beside the other two."""

_LARGEST: Final = 50_000_000


class SkillOffers(BaseModel):
    """What is to be done about the pull requests of one skill."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    skill: str
    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$")]
    version: BranchOffer | None = None
    draft: BranchOffer | None = None
    description: BranchOffer | None = None
    answers: tuple[PostedAnswer, ...] = ()

    @property
    def branches(self) -> tuple[BranchOffer, ...]:
        """What is offered, of whatever kind."""
        return tuple(one for one in (self.version, self.draft, self.description) if one is not None)


class OfferFolder(BaseModel):
    """What `nightly train` leaves for `nightly offer`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    remote: str
    night: Nightly
    offers: tuple[SkillOffers, ...]
    record: NightRecord


def make_folder(folder: Path) -> None:
    """Make the folder of a night, and find out whether files can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        (folder / BUNDLE).unlink(missing_ok=True)
    except OSError as error:
        raise _not_written(folder, error) from error


def write_offers(folder: Path, remote: str, night: Nightly, offers: Sequence[SkillOffers], record: NightRecord) -> None:
    """Write offers and results in a folder."""
    made = OfferFolder(remote=remote, night=night, offers=tuple(offers), record=record)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        aside = folder / f"{OFFERS}.new"
        aside.write_text(made.model_dump_json(indent=1), encoding="utf-8")
        aside.replace(folder / OFFERS)
    except OSError as error:
        raise _not_written(folder, error) from error


def read_offers(folder: Path) -> OfferFolder:
    """Read what `nightly train` wrote."""
    path = folder / OFFERS
    try:
        # Neither a link nor a pipe, on which reading would wait: the folder comes from another job.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{path}: expected a file, found something else; run `skillopt nightly train`")
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise UsageError(f"{path}: expected at most {_LARGEST:,} bytes, found more; run `skillopt nightly train`")
        return OfferFolder.model_validate_json(content)
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}; write it with `skillopt nightly train --out {folder}`"
        raise UsageError(message) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {where}: {first['msg']}; write it with `skillopt nightly train`") from error


def _not_written(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot write {folder}: {error.strerror}; choose another --out")
