"""How often bets on a mean err, what they find and what that costs: `python -m benchmarks.betting`.

The gate judges partial scores by the last one. What the others show with outcomes of -1, 0, 1 is why it judges passed
and failed by signs: see `python -m benchmarks.verdicts`.

Owns the simulation of paired differences and the bets that the kept one was compared with. Each cell
is the share of comparisons accepted at confidence 0.9 / the mean number of tasks looked at, a look
after every 6 tasks, 2,000 comparisons a cell (standard error 0.007 at 0.1, at most 0.011). Outcomes
are -1, 0, 1 but where "partial" says normal with deviation 0.3, cut to [-1, 1].

Share of ties, gain:      0% 0    0% .1    0% .2    0% .3   50% .1   50% .2   50% .3   90% .1  partial .1
36 tasks
plug-in aGRAPA         .043/35  .098/34  .210/32  .390/29  .127/34  .385/31  .707/26  .150/35  .168/35
Kelly, Beta prior      .022/35  .048/35  .116/34  .239/32  .128/33  .326/30  .634/24  .498/32  .417/32
fixed bet 0.6          .042/35  .093/34  .206/32  .392/29  .167/34  .454/29  .778/24  .290/34  .277/34
mixture of 0.4, 0.78   .042/35  .093/34  .206/32  .392/29  .128/34  .387/31  .714/25  .290/34  .297/34
universal portfolio    .025/35  .058/35  .158/34  .326/31  .104/34  .327/31  .653/26  .290/34  .264/34
kept, bound only       .096/22  .203/24  .387/24  .599/24  .261/26  .564/25  .832/23  .481/33  .552/31
kept                   .093/15  .197/17  .369/19  .578/20  .257/19  .551/21  .812/21  .478/32  .547/28
100 tasks
plug-in aGRAPA         .054/96  .152/90  .376/77  .697/58  .254/86  .713/59  .983/33  .940/61  .829/65
Kelly, Beta prior      .023/98  .071/95  .256/87  .593/70  .209/86  .643/63  .969/35  .990/43  .869/53
fixed bet 0.6          .045/96  .108/91  .276/80  .564/62  .275/82  .730/54  .985/29  .975/52  .902/58
mixture of 0.4, 0.78   .053/96  .156/90  .412/76  .763/55  .291/84  .772/58  .991/32  .975/52  .886/57
universal portfolio    .035/98  .119/93  .369/81  .744/61  .252/86  .739/61  .987/34  .975/52  .858/60
kept, bound only       .098/74  .339/76  .688/68  .923/54  .484/74  .900/57  .999/40  .986/58  .954/59
kept                   .091/38  .307/47  .616/52  .866/48  .434/50  .836/49  .975/39  .986/58  .921/56

Only the two last rows stop for futility.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from random import Random

from skillopt.gate.comparison import Outcome
from skillopt.gate.sequential_test import SequentialPlan, SequentialTest, conclude, observe

__all__ = ["main", "run"]

_ALPHA = 0.1
_BATCH = 6
_GAINS = (0.0, 0.05, 0.1, 0.2, 0.3)
_TIES = (0.0, 0.5, 0.9)

_Draw = Callable[[Random], float]
_Strategy = Callable[[Sequence[float]], Iterator[float]]
"""The e-value after each task."""


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="comparisons a cell")
    runs = parser.parse_args().runs
    for tasks in (36, 100):
        _compare_strategies(tasks, runs)
    for tasks in (12, 36, 100):
        _show_nulls(tasks, runs)
    _show_incumbent_repeats(runs)
    return 0


def run(plan: SequentialPlan, differences: Sequence[float], batch: int = _BATCH) -> tuple[Outcome, int]:
    """Play one comparison to its end; give the verdict and the number of tasks looked at."""
    bets, outcome = SequentialTest(plan), None
    while outcome is None:
        looked = len(bets.differences)
        bets = observe(bets, differences[looked : looked + batch])
        outcome = conclude(bets)
    return outcome, len(bets.differences)


def _compare_strategies(tasks: int, runs: int) -> None:
    cells = [(ties, gain) for ties in _TIES for gain in _GAINS if gain <= 1 - ties + 1e-9]
    print(f"\n{tasks} tasks; columns: share of ties, gain")
    names = [f"{ties:.0%} {gain}" for ties, gain in cells] + ["partial 0.05", "partial 0.1"]
    print(" " * 22 + " ".join(f"{name:>12}" for name in names))
    worlds = [_signs(ties, gain) for ties, gain in cells] + [_partial(0.05), _partial(0.1)]
    data = []
    for number, draw in enumerate(worlds):
        random = Random(number)
        data.append([[draw(random) for _ in range(tasks)] for _ in range(runs)])
    for name, strategy in _STRATEGIES.items():
        _print_row(name, [[_until_success(strategy(differences)) for differences in cell] for cell in data])
    for name, chance in (("kept, bound only", 0.0), ("kept", 0.2)):
        plan = SequentialPlan(tasks, 1 - _ALPHA, least_chance=chance)
        rows = [[run(plan, differences) for differences in cell] for cell in data]
        _print_row(name, [[(outcome is Outcome.ACCEPT, used) for outcome, used in row] for row in rows])


def _show_nulls(tasks: int, runs: int) -> None:
    """Show false accepts where nothing is gained; `bound only`, which accepts most."""
    plan, shown = SequentialPlan(tasks, 1 - _ALPHA, least_chance=0.0), []
    for number, (name, draw) in enumerate(_NULLS.items()):
        random = Random(100 + number)
        accepted = sum(run(plan, [draw(random) for _ in range(tasks)])[0] is Outcome.ACCEPT for _ in range(runs))
        shown.append(f"{name} {accepted / runs:.3f}")
    print(f"\nfalse accepts, {tasks} tasks: " + ", ".join(shown))


def _show_incumbent_repeats(runs: int) -> None:
    """Show what averaging the incumbent's repeats gains: 30% of tasks fail, some are mended, 10% of scores flip."""
    print("\n36 tasks, 10% flips, a third of the failing 30% mended (gain 0.08), all of them (gain 0.24)")
    for repeats in (1, 2, 4, 8):
        rows = []
        for share in (1 / 3, 1.0):
            random = Random(repeats)
            rows.append(
                [
                    (outcome is Outcome.ACCEPT, used)
                    for outcome, used in (
                        run(SequentialPlan(36, 1 - _ALPHA), [_flipped(random, share, repeats) for _ in range(36)])
                        for _ in range(runs)
                    )
                ]
            )
        _print_row(f"incumbent repeats {repeats}", rows)


def _print_row(name: str, rows: Sequence[Sequence[tuple[bool, int]]]) -> None:
    cells = [
        f"{sum(hit for hit, _ in row) / len(row):.3f}/{sum(used for _, used in row) / len(row):.0f}" for row in rows
    ]
    print(f"{name:<22}" + " ".join(f"{cell:>12}" for cell in cells))


def _until_success(e_value: Iterator[float]) -> tuple[bool, int]:
    """Look after every batch until the e-value is enough."""
    looked, last = 0, 0.0
    for last in e_value:
        looked += 1
        if looked % _BATCH == 0 and last >= 1 / _ALPHA:
            return True, looked
    return last >= 1 / _ALPHA, looked


def _agrapa(differences: Sequence[float]) -> Iterator[float]:
    """Predictable plug-in of Waudby-Smith & Ramdas (2024), as in confseq."""
    total, mean, spread, e_value = 0.5, 0.5, 0.25, 1.0
    for count, difference in enumerate(differences, 1):
        score = (difference + 1) / 2
        bet = min(math.sqrt(2 * math.log(1 / _ALPHA) / (count * math.log(1 + count) * spread / count)), 1.0)
        e_value *= 1 + bet * (score - 0.5)
        total += score
        mean = total / (count + 1)
        spread += (score - mean) ** 2
        yield e_value


def _mixture(*bets: float) -> _Strategy:
    """Mix fixed bets evenly; many of them are Cover's universal portfolio."""

    def play(differences: Sequence[float]) -> Iterator[float]:
        e_values = [1.0 / len(bets)] * len(bets)
        for difference in differences:
            e_values = [e_value * (1 + bet * difference) for e_value, bet in zip(e_values, bets, strict=True)]
            yield math.fsum(e_values)

    return play


def _kelly(differences: Sequence[float]) -> Iterator[float]:
    """Bet the mean over the second moment with four prior tasks: a Beta prior on the tasks that differ."""
    mean, square, e_value = 3.0, 4.0, 1.0
    for difference in differences:
        e_value *= 1 + min(max(mean / square, 0.0), 0.9) * difference
        mean, square = mean + difference, square + difference**2
        yield e_value


def _signs(ties: float, gain: float) -> _Draw:
    def draw(random: Random) -> float:
        at = random.random()
        return 1.0 if at < (1 - ties + gain) / 2 else -1.0 if at < 1 - ties else 0.0

    return draw


def _partial(gain: float, ties: float = 0.0) -> _Draw:
    return lambda random: 0.0 if random.random() < ties else max(-1.0, min(1.0, random.gauss(gain, 0.3)))


def _rare_loss(random: Random) -> float:
    return -1.0 if random.random() < 0.05 else 0.05 / 0.95  # noqa: PLR2004 - 19 small wins for one great loss


def _flipped(random: Random, mended: float, repeats: int) -> float:
    """_Draw a task: the incumbent's mean over repeats against one repeat of the candidate."""
    fails = random.random() < 0.3  # noqa: PLR2004 - share of failing tasks
    before = 0.1 if fails else 0.9
    after = 0.9 if fails and random.random() < mended else before
    mean = sum(random.random() < before for _ in range(repeats)) / repeats
    return (random.random() < after) - mean


_STRATEGIES: dict[str, _Strategy] = {
    "plug-in aGRAPA": _agrapa,
    "Kelly, Beta prior": _kelly,
    "fixed bet 0.6": _mixture(0.6),
    "mixture of 0.4, 0.78": _mixture(0.4, 0.78),
    "universal portfolio": _mixture(*((step + 0.5) / 20 for step in range(20))),
}
_NULLS: dict[str, _Draw] = {
    "signs": _signs(0.0, 0.0),
    "50% ties": _signs(0.5, 0.0),
    "95% ties": _signs(0.95, 0.0),
    "partial": _partial(0.0),
    "partial, 50% ties": _partial(0.0, 0.5),
    "rare great loss": _rare_loss,
    "rare great win": lambda random: -_rare_loss(random),
}


if __name__ == "__main__":
    sys.exit(main())
