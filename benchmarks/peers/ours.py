"""The presets of this project, in the figures of the comparison.

Owns running them through the real loop (landscapes) and renaming what it measured. Choices:

- The settings are the preset's, whatever they are in this checkout, as users have them, with the rollouts
  allowed as the cap; there is no held-out test.
- `our paper, longer`: without an end by epochs or patience, so that the rollouts allowed are spent; the last
  step that does not fit is not begun.
- A rollout that the loop asks for twice with the same repeat counts twice and answers the same, as it
  does from the ledger; for all other optimizers a repeat is a new draw.
- Handed over is the incumbent, and at the end the draft in its place where the run ends with one that is not
  graded worse. An accept is a version.
- Our optimizer model answers the same prompt always the same; the others get a new sample.
"""

from benchmarks.landscapes.runs import Job, run_job
from benchmarks.peers.arena import Figures, area, first_reaching
from skillopt.skills.document import SkillDocument, estimate_tokens

__all__ = ["measure"]


def measure(world: str, peer: str, seed: int, rollouts: int) -> Figures:
    """Run a preset once.

    Args:
        world: Its name.
        peer: `our` and the name of the preset, which may be to run longer.
        seed: Of the world and of the loop.
        rollouts: What training may ask for.
    """
    preset, _, longer = peer.removeprefix("our ").partition(", ")
    run = run_job(Job(world, preset, seed, rollouts, shipped=not longer))
    curve = run.curve
    if run.handed.kind == "draft":
        curve = (*curve, (run.asked, run.handed.score))
    return Figures(
        world=world,
        peer=peer,
        seed=seed,
        rollouts=rollouts,
        curve=curve,
        best=run.best,
        area=area(curve, rollouts),
        reach=first_reaching(curve, run.best),
        accepted=run.accepted,
        false_accepts=run.false_accepts,
        reported=run.reported,
        reported_true=run.reported_true,
        tokens=estimate_tokens(SkillDocument(run.handed.text).body),
        asked=run.asked,
        calls=run.calls,
        wall=run.wall,
    )
