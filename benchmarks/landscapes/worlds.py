"""The worlds: what a target needs to be told, how noisy it is, and how an optimizer model errs in it.

Owns the parameters and the registry. A world has hidden rules; every task needs some of them, and a
part of a task is done with probability `known` while its rule is in force, else with `unknown`. Does
not own what a document says (lines), the closed form (truth), draws (target) or proposals (proposer).
"""

from dataclasses import dataclass, field, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Habits:
    """How the simulated optimizer model errs."""

    wrong: float = 0.5
    harmful: float = 0.0
    choices: int = 1000
    delete: float = 0.0
    guess: bool = True
    blame: float = 0.0
    heed: float = 0.0
    support: bool = False
    replace: float = 0.0
    pack: int = 1
    offers: int = 0
    late: float = 0.05
    memorise: float = 0.0
    tempt: float = 0.0
    carry: float = 0.0
    beside: bool = False


@dataclass(frozen=True, slots=True)
class World:
    """What is planted."""

    about: str
    rules: int = 12
    train: int = 60
    val: int = 36
    test: int = 120
    unsplit: int = 0
    free: float = 0.0
    hopeless: float = 0.0
    known: float = 0.9
    unknown: float = 0.1
    parts: int = 1
    binary: bool = False
    first_only: bool = False
    together: float = 0.0
    rates: tuple[tuple[float, float], ...] = ()
    given: int = 0
    pairs: tuple[tuple[int, int], ...] = ()
    cells: bool = False
    wordings: int = 1
    clash: bool = False
    order: tuple[tuple[int, int], ...] = ()
    contexts: bool = False
    rare: float = 0.0
    crash: float = 0.0
    harm: float | None = None
    line_cost: float = 0.0
    errors: float = 0.0
    lasting: float = 0.0
    spoiled: int = 0
    habits: Habits = field(default_factory=Habits)

    @property
    def steady(self) -> bool:
        """Whether no rollout fails: peers have no answer to one that does."""
        return not (self.errors or self.lasting)


_PLAIN: Final = World("12 rules, 10% of outcomes flipped, half of the proposals useless")
_LEARNER: Final = Habits(0.3, harmful=0.5, choices=40, guess=False, blame=0.3, heed=0.5, support=True)
_STRONG: Final = World(
    "rules that decide a task; 30% of the proposals wrong, half of those take 15% off everything",
    train=48,
    val=24,
    known=0.95,
    unknown=0.05,
    harm=0.85,
    habits=_LEARNER,
)
# What people have: few tasks, and scores of 0 or 1. Their optimizer model errs less, and a fifth of its errors do harm.
_SOUND: Final = Habits(0.2, harmful=0.2, choices=40, heed=0.5)
_SMALL: Final = World(
    "", rules=6, train=16, val=12, test=60, known=0.97, unknown=0.05, parts=2, binary=True, habits=_SOUND
)
_THREE: Final = replace(_SMALL, known=0.98, parts=3)
_FOUR: Final = replace(_SMALL, rules=8, known=0.98, parts=4)
_REAL: Final = World(
    "", rules=5, train=0, val=0, test=50, binary=True, free=0.4, hopeless=0.2, habits=replace(_SOUND, wrong=0.3)
)
_ABLE: Final = replace(_SMALL, rules=12, known=0.95, habits=replace(_SOUND, wrong=0.1))

# What a loop can get wrong that judges lines one by one, or a text that never ran as a whole.
_CLASH: Final = replace(
    _REAL,
    about="every rule has 20 wordings, and two of one rule at once do nothing",
    rules=4,
    test=100,
    free=0.15,
    hopeless=0.0,
    known=0.95,
    unknown=0.07,
    wordings=20,
    clash=True,
    habits=replace(_SOUND, wrong=0.1),
)
_SPLIT: Final = replace(
    _SMALL, rules=8, train=48, val=24, test=80, known=0.92, unknown=0.08, parts=1, habits=replace(_SOUND, choices=1000)
)
_TEMPTING: Final = replace(
    _SPLIT,
    about="40% of the edits mend their kind of task and leave 30% of two other kinds",
    habits=replace(_SPLIT.habits, wrong=0.1, tempt=0.44),
)
_CONTEXTS: Final = replace(
    _SPLIT,
    about="six topics in two contexts; half of the right lines mend one context and break the other, which passed",
    rules=12,
    test=120,
    known=0.95,
    unknown=0.05,
    contexts=True,
    habits=replace(_SPLIT.habits, tempt=0.5),
)
_VERBOSE: Final = replace(
    _SPLIT,
    about="half of the edits are advice that takes 3% off everything, half of the others carry some along",
    harm=0.97,
    habits=replace(_SPLIT.habits, wrong=0.5, harmful=1.0, carry=0.5),
)
_NULL: Final = replace(_REAL, about="no rule helps: 2 of 5 tasks pass anyway, the others never", hopeless=0.6)
_TRAPS: Final[dict[str, World]] = {
    **{f"clash-{count}": replace(_CLASH, unsplit=count) for count in (12, 20, 40)},
    "memo": replace(
        _SPLIT,
        about="54% of the edits make one train task pass and nothing else",
        rules=12,
        test=60,
        habits=replace(_SPLIT.habits, wrong=0.5, memorise=0.54),
    ),
    "tempting": _TEMPTING,
    "broad": replace(
        _TEMPTING, about="as tempting, 4 of 8 kinds of task pass at the start", known=0.95, unknown=0.05, given=4
    ),
    "general": replace(
        _SPLIT,
        about="30% of the lines, 6 different ones, each raise every chance by 12%; no rule helps",
        known=0.45,
        unknown=0.45,
        harm=1.12,
        habits=replace(_SOUND, wrong=0.6, harmful=0.5, choices=6),
    ),
    "wordings-40": replace(_REAL, about="as real-40, every rule has 20 wordings", unsplit=40, wordings=20),
    "null-12": replace(_NULL, unsplit=12),
    "null-20": replace(_NULL, unsplit=20),
    "null-split": replace(_NULL, train=40, val=24),
    "null-harm": replace(
        _NULL,
        about="as null-20, 30% of the lines take 15% off everything",
        unsplit=20,
        harm=0.85,
        habits=replace(_SOUND, wrong=0.5, harmful=0.6),
    ),
    "mixed-12": replace(
        _REAL,
        about="12 tasks of 5 kinds, which pass with chances of .02 to .45 at the start and of .70 to .98 at best",
        unsplit=12,
        free=0.0,
        hopeless=0.0,
        rates=((0.02, 0.98), (0.05, 0.94), (0.1, 0.84), (0.18, 0.74), (0.45, 0.7)),
    ),
    "flaky-24": replace(
        _REAL,
        about="24 tasks, 15% of outcomes flipped, 20 wordings a rule, 30% of the edits right",
        unsplit=24,
        free=0.0,
        hopeless=0.0,
        known=0.85,
        unknown=0.15,
        wordings=20,
        habits=replace(_SOUND, wrong=0.7),
    ),
    "contexts": _CONTEXTS,
    "contexts-20": replace(_CONTEXTS, train=0, val=0, unsplit=20),
    "verbose-20": replace(_VERBOSE, train=0, val=0, unsplit=20),
    "order-20": replace(
        _SPLIT,
        about="of each two rules the first must stand above the second; two wordings a rule",
        known=0.95,
        unknown=0.05,
        train=0,
        val=0,
        unsplit=20,
        wordings=2,
        order=tuple((at, at + 1) for at in range(0, 8, 2)),
    ),
    "rare-broken-30": replace(
        _SPLIT,
        about="the start knows a rare kind, 10% of the tasks; half of the right lines break all kinds but their own",
        rules=6,
        known=0.95,
        unknown=0.05,
        train=0,
        val=0,
        unsplit=30,
        given=1,
        rare=0.1,
        habits=replace(_SPLIT.habits, tempt=0.5),
    ),
    "crashy-20": replace(
        _SPLIT,
        about="four criteria a task with partial credit; 15% of rollouts fail as a whole",
        known=0.95,
        parts=4,
        binary=False,
        train=0,
        val=0,
        unsplit=20,
        crash=0.15,
    ),
    "inert-12": replace(
        _SMALL,
        about="five right rules, which slip in 5% of runs, and one more that says nothing",
        rules=5,
        known=0.95,
        unknown=0.05,
        parts=1,
        train=0,
        val=0,
        unsplit=12,
        habits=Habits(wrong=0.0, heed=0.5, beside=True),
    ),
    "cell": replace(
        _SPLIT,
        about="half of the tasks show one symptom and need two rules at once; one alone changes nothing that shows",
        rules=6,
        known=0.9,
        unknown=0.1,
        pairs=((0, 1), (2, 3)),
        cells=True,
    ),
}
_USERS: Final[dict[str, World]] = {
    "two-rules": replace(_SMALL, about="16 tasks to learn from, pass or fail; each needs two of 6 rules at once"),
    "three-rules": replace(_THREE, about="as two-rules, each task needs three of 6 rules"),
    "four-rules": replace(_FOUR, about="as two-rules, each task needs four of 8 rules"),
    "two-rules-first": replace(_SMALL, about="as two-rules, only the first failure shows", first_only=True),
    "three-rules-first": replace(_THREE, about="as three-rules, only the first failure shows", first_only=True),
    "four-rules-first": replace(_FOUR, about="as four-rules, only the first failure shows", first_only=True),
    "all-pairs": replace(
        _PLAIN,
        about="12 rules, of which each works only with its partner",
        pairs=tuple((at, at + 1) for at in range(0, 12, 2)),
    ),
    **{
        f"real-{count}": replace(
            _REAL,
            about=f"{count} tasks without splits, pass or fail: 40% pass anyway, 20% never, 40% need one of 5 rules",
            unsplit=count,
        )
        for count in (8, 12, 20, 30, 40)
    },
    "diluted": replace(_PLAIN, about="as distractors, every line costs 1% of every chance", line_cost=0.01),
    "able": replace(_ABLE, about="two of 12 rules a task, pass or fail; one proposal in ten is wrong"),
    "packed": replace(
        _ABLE,
        about="as able, 15% wrong, and four lines come as one edit that cites the tasks of all of them",
        habits=replace(_SOUND, wrong=0.15, pack=4),
    ),
    "fading": replace(
        _PLAIN, about="as distractors, a right line is offered twice at most, later once in 20", habits=Habits(offers=2)
    ),
    "flips-20": replace(_PLAIN, about="as distractors, 20% of outcomes flipped", known=0.8, unknown=0.2),
    "flips-30": replace(_PLAIN, about="as distractors, 30% of outcomes flipped", known=0.7, unknown=0.3),
    "lasting-failures": replace(
        _STRONG,
        about="as strong, a quarter of all prompts and of all (document, task) pairs fail for good",
        lasting=0.25,
    ),
    "criteria": replace(
        _PLAIN,
        about="every task has four criteria, of which a rollout fails half of the time all that it can together",
        train=36,
        val=24,
        parts=4,
        together=0.5,
    ),
}
WORLDS: Final[dict[str, World]] = {
    "distractors": _PLAIN,
    "mostly-distractors": replace(
        _PLAIN, about="as distractors, four of five proposals useless", habits=Habits(wrong=0.8)
    ),
    "harmful": replace(
        _PLAIN, about="as distractors, half of the useless lines put a rule out of force", habits=Habits(harmful=0.5)
    ),
    "noise-free": replace(_PLAIN, about="as distractors, without noise", known=1.0, unknown=0.0),
    "null": replace(_PLAIN, about="nothing that a document says changes anything", known=0.6, unknown=0.6),
    "strong": _STRONG,
    "weak": replace(_STRONG, about="as strong, rules that only help", known=0.75, unknown=0.45),
    "hostile": replace(
        _STRONG,
        about="as strong, 65% of the proposals wrong, half of those take 30% off everything",
        harm=0.7,
        habits=replace(_LEARNER, wrong=0.65),
    ),
    "spoiled": World(
        "the first document puts 4 of the 12 rules out of force; the optimizer model looks for what it is told to",
        spoiled=4,
        habits=Habits(0.5, harmful=0.2, delete=0.25, heed=0.5, replace=0.2),
    ),
    **_USERS,
    **_TRAPS,
}
"""Every world by name."""
