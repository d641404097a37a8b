"""What only nights have of the GitHub action: arguments and outputs of their three steps, and what is cached."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from skillopt.errors import SkilloptError
from skillopt.nightly.handover import read_state

__all__ = ["NIGHT_STEPS", "may_cache", "night_outputs", "step_arguments"]

NIGHT_STEPS: Final = ("check", "train", "offer")

_NIGHT: Final = {0: "unchanged", 3: "failed"}


def step_arguments(
    step: str, place: Path, inputs: Mapping[str, str], caps: Sequence[str], more: Sequence[str]
) -> list[str]:
    """Return the arguments of a step of `nightly`."""
    state, offers = str(place / "state.json"), str(place / "offers")
    reaching = [f"--set=forge={inputs['forge']}"] if inputs["forge"] else []
    reaching += [f"--set=remote={'' if inputs['remote'] == 'none' else inputs['remote']}"] if inputs["remote"] else []
    match step:
        case "check":
            one = [f"--pull-request={inputs['pull-request']}"] if inputs["pull-request"] else []
            return ["check", "--output", state, *reaching, *one]
        case "train":
            return ["train", "--state", state, "--output", offers, *caps, *more]
        case _:
            return ["offer", offers, *reaching]


def night_outputs(step: str, code: int, result: Mapping[str, Any], place: Path) -> dict[str, str]:
    """Return what the outputs say of a step of a night."""
    offers = {"offers": "true" if (place / "offers" / "offers.json").is_file() else ""}
    if step == "check":
        return {"verdict": "" if code == 0 else "error", "asked": str(len(result.get("asked", [])))}
    if not result:
        return {"verdict": "error", **offers}
    skills = result.get("skills", [])
    improved = sum(row["versions"] > 0 for row in skills)
    verdict, usd = _NIGHT.get(code, "error"), result.get("usd")
    return {
        "verdict": "improved" if verdict == "unchanged" and improved else verdict,
        "improved": str(improved),
        "pull-requests": json.dumps([row["offer"]["url"] for row in skills if row["offer"]["action"]]),
        "rollouts": str(result.get("rollouts", 0)),
        "usd": "" if usd is None else f"{usd:.4f}",
        **offers,
    }


def may_cache(event: Mapping[str, Any], state: Path) -> bool:
    """Return whether `.skillopt/` may go to the cache: only where it is known that not everybody may read it.

    Pull requests of a public repository can read its caches, and a ledger quotes tasks with their answers.
    """
    private = (event.get("repository") or {}).get("private")
    if private is not None:
        return bool(private)
    try:
        found = read_state(state)
    except SkilloptError:
        return False
    return found.forge != "none" and not found.facts.public
