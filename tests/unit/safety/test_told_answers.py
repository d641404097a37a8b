"""Tables of training answers and lines about one answer are leaks in any form; rules and their examples are none."""

import json

import pytest

from skillopt.safety.leaks import LeakClass, ProtectedText, find_leaks, index_protected_text
from skillopt.tasks import File, Split, Suite, Task, VerifierSpec

CLIENTS = ("Harbour Books", "Delta Print", "Nordic Tools", "Alpine Dairy", "Quarry Lane", "Silver Fern")
TOTALS = (418, 92, 61, 1365, 240, 583)
LEADS = ("Ida Winter", "Jan Holm", "Mia Costa", "Clara Weiss", "Leon Huber", "Noor Haddad")


def index(prompt: str, answers: tuple[str, ...], *, folds: bool) -> ProtectedText:
    tasks = tuple(
        Task(
            f"t{at}",
            prompt.format(client),
            VerifierSpec("exact", json.dumps({"value": answer})),
            (File("x.txt", b"7;8"),),
        )
        for at, (client, answer) in enumerate(zip(CLIENTS, answers, strict=True))
    )
    split = Split.VAL if folds else Split.TRAIN
    return index_protected_text(
        Suite("s", tuple((split, task) for task in tasks), folds=(tasks[:3], tasks[3:]) if folds else None)
    )


@pytest.mark.parametrize("folds", [False, True])
@pytest.mark.parametrize(
    "added",
    [
        "- Totals: Harbour Books 418, Delta Print 92, Quarry Lane 240.",
        "| client | total |\n|---|---|\n| Harbour Books | 418 |\n| Delta Print | 92 |\n| Alpine Dairy | 1,365.00 |",
        "- Harbour Books is four hundred and eighteen, Delta Print ninety-two, Silver Fern five hundred eighty-three.",
        "- Delta Print, Nordic Tools, Silver Fern: 92, 61 and 583 euros, in this order.",
        "- For Harbour Books answer 418.\n- For Delta Print answer 92.\n- For Nordic Tools answer 61.",
        "- The sum of Delta Print is 92.",
    ],
)
def test_training_answers_are_a_leak_as_a_table_in_words_or_in_a_line_of_their_own(added: str, *, folds: bool) -> None:
    protected = index(
        "What is the sum of the invoices of {}?", tuple(f"{total} euros" for total in TOTALS), folds=folds
    )
    kind = LeakClass.HELD_OUT_ANSWER if folds else LeakClass.TRAIN_ANSWER

    assert find_leaks(protected, added, "") == (kind,)
    assert find_leaks(protected, added, f"# Ledger\n\n{added}\n") == ()


def test_a_list_of_names_with_the_names_of_the_answers_is_a_leak() -> None:
    protected = index("Who answers for {}?", LEADS, folds=False)

    assert find_leaks(protected, "- Harbour: Winter; Delta: Holm; Nordic: Costa; Alpine: Weiss.", "")
    assert find_leaks(protected, "- Give first and last name, as in Ida Winter; Harbour Books has two leads.", "") == ()


@pytest.mark.parametrize("folds", [False, True])
def test_rules_with_numbers_names_and_examples_are_no_leak(*, folds: bool) -> None:
    protected = index(
        "What is the sum of the invoices of {}?", tuple(f"{total} euros" for total in TOTALS), folds=folds
    )
    rules = (
        "Add up the net amounts of all rows of the client and write the sum with the word euros.",
        "Write amounts without decimals, as in `418 euros`.",
        "Subjects have at most 72 characters, summaries 92 words, reports three headings.",
        "Retry at most 5 times with 30 seconds between tries; HTTP 429 is worth a retry, 400 is not.",
        "Sums of Harbour Books are net amounts, of Delta Print gross; Quarry Lane has 19 percent tax.",
        "If a client has credit notes, subtract them before you add up; Silver Fern has two hundred.",
    )

    assert [rule for rule in rules if find_leaks(protected, f"- {rule}", "")] == []
    assert find_leaks(protected, "\n".join(f"- {rule}" for rule in rules), "") == ()


def test_what_several_answers_or_criteria_say_is_a_rule() -> None:
    labels = index(
        "Sort the mail of {}.", ("billing", "shipping", "returns", "billing", "account", "product"), folds=False
    )
    said = "- Harbour is billing, Delta shipping, Nordic returns, Quarry account."
    rubric = VerifierSpec("rubric", json.dumps({"criteria": ["It has 418 words.", "It has 92 lines."]}))
    tasks = tuple(Task(f"t{at}", f"Write about {client}.", rubric) for at, client in enumerate(CLIENTS))
    judged = index_protected_text(Suite("s", tuple((Split.TRAIN, task) for task in tasks)))

    assert find_leaks(labels, said, "") == ()
    assert find_leaks(judged, "- Harbour has 418 words, Delta 92 lines.", "") == ()
