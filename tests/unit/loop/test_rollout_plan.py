"""How the cap of a run is shared."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.loop.caps import least_rollouts, plan_rollouts, settle_folds
from skillopt.settings import GateRule, Settings
from skillopt.tasks import Split, Suite, Task, VerifierSpec, plan_splits


def suite(count: int) -> Suite:
    tasks = [Task(str(number), f"do {number}", VerifierSpec("exact")) for number in range(count)]
    return plan_splits("s", tasks)


@given(st.integers(2, 120), st.integers(8, 2000), st.sampled_from([GateRule.SEQUENTIAL, GateRule.PAIRED]))
def test_what_is_kept_for_the_verdict_leaves_learning_its_part_of_the_cap(count: int, cap: int, rule: GateRule) -> None:
    settings = Settings(max_rollouts=cap, gate=rule)
    settled = settle_folds(suite(count), settings)
    plan = plan_rollouts(settled, settings)
    if settled.folds:
        assert plan.gate <= cap // 2
        assert plan.gate % count == 0
    else:
        assert 0 < plan.gate + plan.baseline <= cap // 4
    assert plan.learning is not None
    assert plan.baseline + plan.gate + plan.test + plan.learning == cap


def test_few_tasks_all_teach_where_a_gate_compares_side_by_side() -> None:
    folded = suite(20)
    assert settle_folds(folded, Settings(max_rollouts=30)) is folded
    halves = settle_folds(folded, Settings(gate=GateRule.STRICT))
    assert halves.folds is None
    assert [len(halves.tasks(split)) for split in Split] == [10, 10, 0]


def test_the_published_gate_compares_with_the_whole_recorded_baseline() -> None:
    plan = plan_rollouts(suite(64), Settings(max_rollouts=200, gate=GateRule.STRICT))
    assert (plan.baseline, plan.gate, plan.test, plan.learning) == (24, 24, 16, 136)


@given(st.integers(2, 80), st.sampled_from(GateRule))
def test_the_least_cap_has_room_for_a_batch_and_a_gate_and_one_less_has_not(count: int, rule: GateRule) -> None:
    settings = Settings(gate=rule)
    least = least_rollouts(suite(count), settings)

    def has_room(cap: int) -> bool:
        capped = settings.model_copy(update={"max_rollouts": cap})
        settled = settle_folds(suite(count), capped)
        plan = plan_rollouts(settled, capped)
        if settled.folds:
            return 2 * cap >= 3 * count
        gate = len(settled.tasks(Split.VAL)) * (1 if rule is GateRule.STRICT else 2)
        taught = settled.tasks(Split.TRAIN)
        return plan.baseline + plan.test + gate + min(settings.batch_size, len(taught)) <= cap

    assert has_room(least)
    assert not has_room(least - 1)
