"""Turns at a time: order, shared places, and Ctrl-C for all threads."""

import signal
import threading
from functools import partial

import pytest

from skillopt.errors import InfrastructureError
from skillopt.execution.interrupts import Interrupts
from skillopt.execution.metering import Caps, Meter, MeteredModel
from skillopt.execution.places import CallPlaces
from skillopt.execution.runner import RunObserver
from skillopt.execution.threads import ThreadExecutor
from skillopt.execution.turns import NamedObserver, take_turns
from skillopt.rollouts import Reply, Usage


class Slow:
    """A model that counts how many calls it is asked at a time, each of which waits for `many` of them, or its turn."""

    identity = "slow"

    def __init__(self, many: int) -> None:
        self.barrier = threading.Barrier(many)
        self.lock = threading.Lock()
        self.now = self.most = 0

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:  # noqa: ARG002 - of the port
        return Usage(1)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:  # noqa: ARG002 - of the port
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.barrier.wait(60)
        with self.lock:
            self.now -= 1
        return Reply(prompt, Usage(1))


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_results_come_in_the_order_of_the_turns(at_once: int) -> None:
    assert list(take_turns([partial(str, number) for number in range(4)], at_once)) == ["0", "1", "2", "3"]


def test_runs_that_share_places_make_no_more_calls_at_a_time_than_there_are_places() -> None:
    model, places = Slow(3), CallPlaces(3)

    def run(name: str) -> int:
        metered = MeteredModel(model, Meter(Caps(), places=places), "optimizer")
        executor = ThreadExecutor(3)
        return sum(len(group) for group in executor.run(metered.reply, [f"{name} {call}" for call in range(6)]))

    assert list(take_turns([partial(run, name) for name in "abc"], 3, places)) == [6, 6, 6]
    assert model.most == 3


def test_what_one_turn_raises_is_raised_when_the_others_have_ended() -> None:
    def broken() -> str:
        raise ValueError("broken")

    taken: list[str] = []
    with pytest.raises(ValueError, match="broken"):
        taken.extend(take_turns([partial(str, 1), broken, partial(str, 3)], 2))
    assert taken == ["1", "3"]


def test_ctrl_c_ends_every_turn_after_the_calls_under_way_and_begins_no_more() -> None:
    begun, answered = threading.Barrier(3), list[str]()

    def turn(name: str) -> None:
        told = threading.Event()

        def call(item: str) -> None:
            begun.wait(60)
            assert told.wait(60)
            answered.append(item)

        executor = ThreadExecutor(1, notice=lambda _: told.set())
        for _ in executor.run(call, [f"{name}{step}" for step in range(50)]):
            pass

    def press() -> None:
        begun.wait(60)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    helper = threading.Thread(target=press)
    helper.start()
    with pytest.raises(KeyboardInterrupt):
        list(take_turns([partial(turn, name) for name in ("a", "b", "c")], 2, CallPlaces(2)))
    helper.join()
    assert sorted(answered) == ["a0", "b0"]


def test_who_listens_after_ctrl_c_is_told_at_once() -> None:
    interrupts, told = Interrupts(), list[str]()

    def job() -> None:
        interrupts.press()
        with Interrupts.listen(lambda: told.append("pressed")):
            pass
        interrupts.press()

    interrupts.run(job)
    assert told == ["pressed"]
    with pytest.raises(KeyboardInterrupt):
        interrupts.run(job)


def test_of_closed_places_none_is_given_and_a_waiting_call_counts_as_not_made() -> None:
    places = CallPlaces(1)
    meter = Meter(Caps(), places=places)
    ended = meter.reserve(Usage)
    waiting: list[BaseException] = []

    def ask() -> None:
        try:
            MeteredModel(Slow(1), meter, "optimizer").reply("?")
        except InfrastructureError as error:
            waiting.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    places.close()
    thread.join(60)
    ended("target", Usage(1))
    assert [str(error) for error in waiting] == ["a call was not made, for Ctrl-C was pressed"]
    assert Usage.total(meter.by_role.values()).calls == 1


def test_a_message_names_its_skill_on_each_line() -> None:
    said: list[str] = []

    class Listening(RunObserver):
        def notice(self, text: str) -> None:
            said.append(text)

    NamedObserver(Listening(), "rows").notice("one\ntwo")
    assert said == ["rows: one\nrows: two"]
