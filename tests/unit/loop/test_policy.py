"""The policy: what is run, what is known to fail, what is given up, and how far the draft leads."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from skillopt.loop.policy import MOST_TRIES, Policy
from tests.fakes.worlds import World, drive, line, missing, pick

ALPHA, OTHER = 10, 4


def mixed(**values: object) -> World:
    """Ten tasks that need a word, and four that need none."""
    needs: dict[str, Sequence[str]] = {f"train-{number}": ("alpha",) for number in range(ALPHA)}
    return World(needs | {f"train-{number}": () for number in range(ALPHA, ALPHA + OTHER)}, **values)  # type: ignore[arg-type]  # a world


def idle(policy: Policy) -> Policy:
    policy.idle = 2
    return policy


def runs(world: World) -> int:
    return len(world.requests)


def test_the_first_pick_is_of_tasks_that_fail_now() -> None:
    world = mixed()
    shown = pick(world.policy())
    assert set(shown) == {f"train-{number}" for number in range(ALPHA)}
    assert all(seen.symptoms == missing("alpha") for seen in shown.values())


def test_what_failed_under_another_text_is_run_again_before_it_is_shown() -> None:
    world = mixed()
    policy = world.policy()
    pick(policy)
    policy.evidence.draft.set([line("alpha", {"train-0": ["alpha"]})])
    assert not pick(policy)
    assert all(not policy.evidence.seen[f"train-{number}"].symptoms for number in range(ALPHA))


def test_a_task_that_cannot_be_measured_under_the_draft_as_it_is_is_asked_for_twice_and_no_more() -> None:
    world = World({f"train-{number}": ("alpha", "beta") for number in range(4)})
    policy = world.policy()
    pick(policy)
    policy.evidence.draft.set([line("alpha", {"train-0": ["alpha"]})])
    object.__setattr__(world, "dead", frozenset({"train-3"}))
    before = runs(world)
    for _ in range(5):
        pick(policy)
    assert [request.task.id for request in world.requests[before:]].count("train-3") == 2


def test_where_a_share_of_tasks_fails_by_chance_the_reruns_show_it() -> None:
    quiet, noisy = mixed().policy(), World({f"train-{number}": () for number in range(60)}, flips=0.35).policy()
    for policy in (quiet, noisy):
        for _ in range(3):
            pick(policy)
    assert not quiet.epochs.pooled
    assert noisy.evidence.rates.without > quiet.evidence.rates.without
    assert noisy.epochs.pooled


def test_a_symptom_is_given_up_after_as_many_reflections_as_the_proposer_deserves() -> None:
    def given_up_after(kept: float) -> int:
        policy = mixed().policy()
        policy.kept, policy.proposed = kept * 100, 100.0
        (symptom,) = missing("alpha")
        while not policy.gave_up(symptom):
            policy.tries[symptom] += 1
        return policy.tries[symptom]

    tries = [given_up_after(share) for share in (0.95, 0.6, 0.3, 0.05)]
    assert tries == sorted(tries)
    assert (tries[0], tries[-1]) == (3, MOST_TRIES)


def test_learning_is_open_while_a_task_was_never_run_or_a_symptom_is_neither_answered_nor_given_up() -> None:
    policy = mixed().policy()
    opened = [not idle(policy).done]
    pick(policy)
    opened.append(not idle(policy).done)
    policy.tries.update(dict.fromkeys(missing("alpha"), MOST_TRIES))
    assert [*opened, not idle(policy).done] == [True, True, False]
    assert policy.stuck == tuple(sorted(f"train-{number}" for number in range(ALPHA)))


def test_of_many_tasks_a_symptom_that_one_of_them_shows_is_taken_for_noise() -> None:
    few, many = (World({f"train-{n}": ("alpha",) if not n else () for n in range(count)}) for count in (8, 30))
    for world, expected in ((few, True), (many, False)):
        policy = world.policy()
        drive(policy.evidence, policy.evidence.run(policy.evidence.draft.skill, world.needs))
        assert idle(policy).done is not expected


@given(st.integers(1, 4), st.lists(st.sets(st.integers(0, ALPHA - 1), min_size=1), min_size=1, max_size=5))
def test_each_line_is_covered_as_often_as_wanted_or_on_all_that_it_cites(times: int, cited: list[set[int]]) -> None:
    policy = mixed().policy()
    lines = [line(f"w{at}", {f"train-{n}": ["alpha"] for n in names}) for at, names in enumerate(cited)]
    chosen = policy.evidence.cover(lines, list(policy.evidence.tasks), times)
    assert len(chosen) == len(set(chosen)) <= times * len(lines)
    for one in lines:
        assert len(set(one.targets) & set(chosen)) >= min(times, len(one.targets))
