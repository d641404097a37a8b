"""Names of the person whose sessions are read."""

import pytest

from skillopt.contrib.history.own_names import OwnNames
from skillopt.contrib.history.redaction import Redaction

OWN = OwnNames("Ann-Mari Okoro", "ann.okoro@corp", ("aokoro",), "/srv/people/aokoro", "annbook.fritz")


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Sign it with Ann-Mari Okoro, please", "Sign it with [name], please"),
        *(("author = ANN-MARI OKORO", "author = [name]"), ("Okoro wrote it", "[name] wrote it")),
        *(("write to ann.okoro@corp now", "write to [address] now"), ("ssh aokoro@annbook", "ssh [address]")),
        ("see /srv/people/aokoro/notes.txt", "see ~/notes.txt"),
        *(("on annbook.fritz and annbook", "on [host] and [host]"), ("/mnt/data/aokoro/x", "/mnt/data/[name]/x")),
    ],
)
def test_names_that_are_known_are_masked_wherever_they_stand(said: str, left: str) -> None:
    assert Redaction(lambda _: (), (), OWN).text(said) == left


@pytest.mark.parametrize("said", ["annotate the okorogram", "annbooks are here", "a name: aokorosan"])
def test_words_that_only_begin_like_a_name_stay(said: str) -> None:
    assert OWN.mask(said) == said
