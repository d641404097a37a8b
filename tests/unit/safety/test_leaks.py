"""Edits that carry protected text are found; rules, examples and what training shows are not."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from benchmarks.demo.advice import ADVICE, IRRELEVANT
from skillopt.safety.leaks import LEAK_REASON, LeakClass, ProtectedText, find_leaks, index_protected_text
from skillopt.suites import load_suite
from skillopt.tasks import Environment, File, Split, Suite, Task, VerifierSpec

ROOT = Path(__file__).parents[3]
TIDY = load_suite(ROOT / "benchmarks" / "suites" / "tidy_tables")
WEAK = (ROOT / "skills" / "tidy-tables" / "SKILL.md").read_text(encoding="utf-8")
CHECK = b"def score(rows):\n    return sum(row.total == row.net + row.tax for row in rows) / max(len(rows), 1)\n"
RUBRIC = {"criteria": ["The letter opens with the name of the addressee and closes with a date in words."]}


def task(name: str, prompt: str, options: object = None, *files: File, inputs: tuple[File, ...] = ()) -> Task:
    return Task(name, prompt, VerifierSpec("exact", json.dumps(options or {}), files), inputs)


def ledger(*rows: str) -> File:
    return File("expected.csv", "\n".join(["ref,name,phone,day", *rows]).encode())


TRAIN_ROWS = (
    "CON-0101,Ida Winter,+491701234567,2024-01-09",
    "CON-0102,Jan Holm,+491707654321,2024-02-10",
    "CON-0103,Mia Costa,+491705550001,2024-03-11",
)
VAL_ROWS = ("CON-0201,Clara Weiss,+491709876543,2023-05-06", "CON-0202,Leon Huber,+491702223334,2023-07-08")
VAL_INPUT = File("input.csv", b"ref;name\n77120881;Weiss, Clara\n77120882;Huber, Leon\n")
DISPUTE = "Which invoice did the Hamburg office of Nordwind dispute in autumn?"
LETTER = VerifierSpec("rubric", json.dumps(RUBRIC), (File("check.py", CHECK),))
KEYS = "how the night shift of the dairy hands over its keys"
SUITE = Suite(
    "small",
    (
        (Split.TRAIN, task("a", "Tidy the ledger that Moreau sent.", {}, ledger(*TRAIN_ROWS))),
        (Split.TRAIN, Task("b", "Write the letter of thanks.", LETTER)),
        (Split.TRAIN, task("c", "Which warehouse in Bremen stores the copper pipes?", {"value": "Hall Nine East"})),
        (Split.VAL, task("d", "Tidy the ledger that Lind sent.", {}, ledger(*VAL_ROWS), inputs=(VAL_INPUT,))),
        (Split.VAL, task("e", DISPUTE, {"value": "INV-7731"})),
        (Split.TEST, task("f", f"Describe in one short paragraph {KEYS}.", {"value": "ok"})),
    ),
)
PROTECTED = index_protected_text(SUITE)


def kinds(added: str, skill: str = "", protected: ProtectedText = PROTECTED) -> set[LeakClass]:
    return set(find_leaks(protected, added, skill))


@pytest.fixture(scope="module")
def tidy() -> ProtectedText:
    return index_protected_text(TIDY)


def test_rules_as_an_optimizer_model_words_them_are_no_leak(tidy: ProtectedText) -> None:
    rules = [rule for advice in ADVICE.values() for rule in (*advice.good, *advice.bad)] + list(IRRELEVANT)
    rules += [
        "Dates are day first.",
        "Rename columns to the house names: `qty` to `quantity`, `tel` to `phone`, `ctry` to `country`.",
        "Write ids in upper case with the number padded to 4 digits, as in SHP-0690.",
        "The columns are contact_id, name, email, phone, country, newsletter, updated_on, in this order.",
    ]
    assert [rule for rule in rules if find_leaks(tidy, rule, WEAK)] == []
    assert find_leaks(tidy, "\n".join(f"- {rule}" for rule in rules), WEAK) == ()


@pytest.mark.parametrize("split", [Split.VAL, Split.TEST])
def test_two_rows_of_a_held_out_answer_are_a_leak_in_nearly_any_order_and_case(
    tidy: ProtectedText, split: Split
) -> None:
    random, found = Random(1), 0
    for held_out in TIDY.tasks(split):
        rows = held_out.verifier.files[0].content.decode().splitlines()[1:3]
        assert kinds("\n".join(rows), WEAK, tidy) >= {LeakClass.HELD_OUT_ANSWER}
        cells = ",".join(rows).upper().split(",")
        random.shuffle(cells)
        found += LeakClass.HELD_OUT_ANSWER in kinds(f"- Expect {' | '.join(cells)}.", WEAK, tidy)
    assert found / len(TIDY.tasks(split)) > 0.9


@pytest.mark.parametrize(
    "added",
    [
        *("Clara Weiss has the number +491709876543.", "For CON-0201 and then CON-0202 nothing changes."),
        *("See 2023/07/08 and 2023.05.06.", "con 0201 is known as *CON_0201*, c-o-n-0-2-0-2 likewise"),
        "\uff23\uff2f\uff2e\uff0d\uff10\uff12\uff10\uff11, \uff23\uff2f\uff2e\uff0d\uff10\uff12\uff10\uff12",
    ],
)
def test_values_of_one_held_out_answer_are_a_leak_however_they_are_written(added: str) -> None:
    assert kinds(added) == {LeakClass.HELD_OUT_ANSWER}


def test_the_words_of_a_held_out_prompt_are_a_leak_however_they_are_joined() -> None:
    assert kinds(f"Say {KEYS}.") == {LeakClass.HELD_OUT_TASK}
    assert kinds(KEYS.upper().replace(" ", ", ")) == {LeakClass.HELD_OUT_TASK}
    assert kinds(KEYS.replace(" ", "-")) == {LeakClass.HELD_OUT_TASK}
    assert kinds("At the dairy, whoever ends the night hands the keys on.") == set()
    assert kinds("Customer 77120881 comes before 77120882.") == {LeakClass.HELD_OUT_TASK}
    assert kinds("Write ids like CON-0201.") == set()


def test_the_text_of_a_verifier_is_a_leak_from_any_split() -> None:
    assert kinds("Make sure that row.total == row.net + row.tax for row in rows.") == set()
    assert kinds("return sum(row.total == row.net + row.tax for row in rows) / max(len(rows), 1)") == {
        LeakClass.VERIFIER
    }
    assert kinds("The letter opens with the name of the addressee, always.") == {LeakClass.VERIFIER}
    assert kinds("Open a letter with the addressee and write the date out.") == set()


def test_a_training_answer_may_be_an_example_but_not_the_rule() -> None:
    row = "CON-0101, Ida Winter, +491701234567, 2024-01-09"
    rows = "CON-0101 2024-01-09 +491701234567; CON-0102 2024-02-10 +491707654321; CON-0103 2024-03-11 +491705550001"
    assert kinds(f"Separate values by commas and write days in ISO form, as in {row}.") == set()
    assert kinds(f"Answer {rows}.") == {LeakClass.TRAIN_ANSWER}


def test_a_quote_of_one_training_answer_is_a_memory_and_of_several_a_rule() -> None:
    words = "all goods leave the yard before noon on working days"

    def suite(*answers: str) -> ProtectedText:
        files = (File("x", answer.encode()) for answer in answers)
        return index_protected_text(
            Suite("s", tuple((Split.TRAIN, task(f"t{n}", f"{n}", {}, x)) for n, x in enumerate(files)))
        )

    assert kinds(words, protected=suite(words, "none")) == {LeakClass.TRAIN_ANSWER}
    assert kinds(words, protected=suite(f"{words} 1", f"{words} 2")) == set()


def test_what_the_skill_or_a_training_task_shows_is_no_secret() -> None:
    assert kinds(KEYS, skill=f"Tell {KEYS}.") == set()
    assert kinds("CON-0201, CON-0202", skill="Ids such as CON-0201 and CON-0202.") == set()
    shown = Suite("s", (*SUITE.splits, (Split.TRAIN, task("g", f"Tell {KEYS}; CON-0201, CON-0202."))))
    assert kinds(f"{KEYS}: CON-0201, CON-0202", protected=index_protected_text(shown)) == set()


SAID = "write the one sentence No user-visible changes below the heading"
CHECKING = File("check.py", f"""import sys\nsys.exit('{SAID}' if not open('log').read() else 0)\n""".encode())
LONG = {"value": "the board meets in the small hall on the first floor"}


@pytest.mark.parametrize("folds", [False, True])
def test_what_the_verifier_of_a_train_task_says_is_no_leak_and_its_code_and_held_out_answers_are(
    folds: bool,  # noqa: FBT001 - a case
) -> None:
    tasks = [task(name, f"Do {name}.", {}, CHECKING) for name in ("one", "two")]
    held_out = task("three", "Do three.", LONG)
    splits = (Split.VAL, Split.VAL) if folds else (Split.TRAIN, Split.VAL)
    halves = ((tasks[0], held_out), (tasks[1],)) if folds else None
    protected = index_protected_text(
        Suite("s", (*zip(splits, tasks, strict=True), (Split.VAL, held_out)), folds=halves)
    )

    assert kinds(f"- If nothing changed, {SAID}.", protected=protected) == set()
    assert kinds(f"sys.exit('{SAID}' if not open('log').read() else 0)", protected=protected) == {LeakClass.VERIFIER}
    assert kinds(f"- Say that {LONG['value']}.", protected=protected) == {LeakClass.VERIFIER}


def test_what_only_the_verifier_of_a_held_out_task_says_is_a_leak() -> None:
    splits = ((Split.TRAIN, task("one", "Do one.")), (Split.VAL, task("two", "Do two.", {}, CHECKING)))

    assert kinds(f"- {SAID}", protected=index_protected_text(Suite("s", splits))) == {LeakClass.VERIFIER}


def test_every_class_is_found_and_the_reason_names_no_task() -> None:
    texts = [
        text
        for _, one in SUITE.splits
        for text in (one.prompt, one.verifier.options, *(file.content.decode() for file in one.verifier.files))
    ]
    assert kinds("\n".join(texts)) == set(LeakClass) - {LeakClass.TASK_ID}
    secrets = {"moreau", "lind", "dairy", "nordwind", "hamburg", "con0201", "weiss", "ledger", "letter", "letters"}
    assert secrets.isdisjoint(LEAK_REASON.lower().split())


def test_binary_files_and_broken_text_do_no_harm() -> None:
    files = (File("a.bin", b"\0\1 CON-0101"), File("b.txt", b"\xff\xfe 12345678901234 \xc3"))
    protected = index_protected_text(Suite("s", ((Split.VAL, task("a", "do it", {}, *files)),)))
    assert kinds("\ud800 12345678901234", protected=protected) == {LeakClass.HELD_OUT_ANSWER}
    assert kinds("", protected=protected) == set()


def test_the_id_of_a_task_is_a_leak_and_a_word_that_a_rule_may_use_is_none() -> None:
    series = [f"tidy-orders-00{number}" for number in (31, 32, 33)]
    names = (*series, "dates", "iso-dates", "iso-8601", "python3", "utf8", "csv-to-json", "2024", "2025", "2026")
    protected = index_protected_text(
        Suite("s", tuple((Split.VAL, task(name, f"Tidy it {at} times.")) for at, name in enumerate(names)))
    )

    assert kinds("For tidy-orders-0032 sort by date.", protected=protected) == {LeakClass.TASK_ID}
    for name in names[len(series) :]:
        assert kinds(f"Keep what {name} asks for.", protected=protected) == set()


def test_two_cells_of_one_held_out_row_are_a_leak() -> None:
    assert kinds("- When the name is Clara Weiss, write +491709876543.") == {LeakClass.HELD_OUT_ANSWER}
    assert kinds("- CON-0202 belongs to LEON  HUBER.") == {LeakClass.HELD_OUT_ANSWER}


def test_the_first_cells_of_a_held_out_row_are_a_leak_and_its_head_and_other_cells_are_none() -> None:
    table = File("expected.csv", b"place,keeper,state\nharbour shed,old smith,open\nmill,ida,shut\n")
    protected = index_protected_text(Suite("s", ((Split.VAL, task("a", "Tidy it.", {}, table)),)))

    assert kinds("| Harbour shed | Old Smith |", protected=protected) == {LeakClass.HELD_OUT_ANSWER}
    assert kinds("Columns are place, keeper and state; the old smith is open.", protected=protected) == set()
    assert kinds("The mill is shut.", protected=protected) == set()


def test_values_of_three_held_out_answers_are_a_table() -> None:
    answers = (f"INV-{number}" for number in (7731, 7882, 7993))
    tasks = tuple(
        (Split.VAL, task(name, f"Which {name}?", {"value": answer}))
        for name, answer in zip("abc", answers, strict=True)
    )
    protected = index_protected_text(Suite("s", tasks))

    assert kinds("Nordwind: INV-7731; Lind: INV-7882; Moreau: INV-7993.", protected=protected) == {
        LeakClass.HELD_OUT_ANSWER
    }
    assert kinds("As in INV-7731 or INV-7882.", protected=protected) == set()


def test_one_cell_and_cells_of_training_tables_are_no_leak() -> None:
    assert kinds("- Write names as in Leon Huber, then the day, as in 2023.") == set()
    assert kinds("- Ida Winter and CON-0101 are one row.") == set()
    assert kinds("- Keep all of 2023-05-06 and 2023-06-05 apart.") == set()


def test_files_of_a_container_are_inputs_and_its_dockerfile_is_no_secret() -> None:
    dockerfile = "FROM debian:12\nRUN apt-get update && apt-get install -y git curl jq sqlite3 tree\n"
    notes = "The ledger of the harbour office lists each barge by its draught and the hour of the tide."
    files = (File("environment/Dockerfile", dockerfile.encode()), File("environment/notes.txt", notes.encode()))
    options = VerifierSpec("command", json.dumps({"argv": ["bash", "/tests/test.sh"], "runs": "agent"}), files)
    there = Environment(container="FROM debian:12")
    shown, held_out = (Task(name, f"Do task {name}.", options, environment=there) for name in ("a", "b"))
    (own,) = [replace(held_out, verifier=replace(options, files=(*files, File("tests/key.txt", DISPUTE.encode()))))]
    train, val = (index_protected_text(Suite("s", (placed,))) for placed in ((Split.TRAIN, shown), (Split.VAL, own)))
    assert kinds(notes, protected=train) == set()
    assert kinds(dockerfile, protected=val) == set()
    assert kinds(notes, protected=val) == {LeakClass.HELD_OUT_TASK}
    assert kinds(DISPUTE, protected=val) == {LeakClass.HELD_OUT_ANSWER}
