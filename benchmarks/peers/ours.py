"""The presets of this project, in the figures of the comparison.

Owns running them through the real loop (landscapes) and renaming what it measured. Choices:

- The settings are the preset's, whatever they are in this checkout, without an end by epochs or
  patience, so that the rollouts allowed are spent; the last step that does not fit is not begun.
- A rollout that the loop asks for twice with the same repeat counts twice and answers the same, as it
  does from the ledger; for all other optimizers a repeat is a new draw.
- Handed over is the incumbent. The held-out test at the end is not counted, and nothing is chosen by it.
- Our optimizer model answers the same prompt always the same; the others get a new sample.
"""

from benchmarks.landscapes.runs import Job, run_job
from benchmarks.peers.arena import Figures

__all__ = ["measure"]


def measure(world: str, peer: str, seed: int, rollouts: int) -> Figures:
    """Run a preset once.

    Args:
        world: Its name.
        peer: `our` and the name of the preset.
        seed: Of the world and of the loop.
        rollouts: What training may ask for.
    """
    run = run_job(Job(world, peer.removeprefix("our "), seed, rollouts))
    return Figures(
        world=world,
        peer=peer,
        seed=seed,
        rollouts=rollouts,
        curve=run.curve,
        best=run.best,
        area=run.area,
        reach=run.reach,
        accepted=run.accepted,
        false_accepts=run.false_accepts,
        reported=run.reported,
        reported_true=run.reported_true,
        tokens=run.tokens,
        asked=run.asked,
        calls=run.calls,
        wall=run.wall,
    )
