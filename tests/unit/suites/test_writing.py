"""Writing suites: what is written and read again is the same."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from skillopt.suites.reading import parse_yaml
from skillopt.suites.writing import write_suite, yaml_text
from skillopt.tasks import File, Task, VerifierSpec

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ["a\n\n b \n", "- a\nb: c\n", "yes", "~", "1", "a: b", "# a", " a\nb", "a\r\nb", "\ta\nb\n", "a\n\n", "|\n>\n"]
)
values = st.recursive(
    texts
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts.filter(lambda key: key != "<<"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(texts.filter(lambda key: key != "<<"), values, min_size=1, max_size=4))
def test_values_that_are_written_as_yaml_are_read_as_they_were(value: dict[str, object]) -> None:
    assert parse_yaml(Path("a.yaml"), yaml_text(value)).value == value


def test_a_suite_is_written_to_be_read_by_people() -> None:
    spec = VerifierSpec("exact", '{"value":"3, 5"}')
    task = Task("late", "Which are late?\nName them.", spec, (File("a.csv", b"3\n"),))

    suite, _ = write_suite("orders", ((None, task),))

    assert suite.content.decode() == (
        "name: orders\ntasks:\n- id: late\n  prompt: |-\n    Which are late?\n    Name them.\n"
        "  files:\n    a.csv: files/late/input/a.csv\n  verifier:\n    kind: exact\n    value: 3, 5\n"
    )
