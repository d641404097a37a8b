"""What is taken out of texts of sessions, and what stays."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.contrib.history.redaction import FindSecrets, Redaction, secret_scanner
from tests.fakes.planted_secrets import PERSONAL, SECRETS


@pytest.fixture(scope="module")
def find() -> Iterator[FindSecrets]:
    with secret_scanner() as found:
        yield found


def test_a_secret_that_is_known_by_the_words_around_it_is_gone_where_it_stands_bare_too(find: FindSecrets) -> None:
    redaction = Redaction(find)
    redaction.learn("The password is hunter2gather, keep it.", 'db_password = "correct-horse-9"')

    assert redaction.text("log in with hunter2gather") == "log in with [secret]"
    assert redaction.text("then correct-horse-9") == "then [secret]"
    assert Redaction(find, {"plain words here"}).text("say plain words here!") == "say [secret]!"


@pytest.mark.parametrize(
    "text",
    [
        "Clean data/vendors.csv: dates as 2026-11-22 10:15:00, version 1.2.3, and 42 rows of 1,000.",
        "See https://github.com/a/b and https://docs.python.org/3/library/re.html#re.compile.",
        "Write it to reports/2026/quarterly_summary_of_vendors.md and run pytest tests/unit/test_rows.py -k mails.",
        "Mail jane@example.com, port 8080 of localhost and 127.0.0.1",
        "def total_of_rows_with_tax(rows): return sum(row['amount'] * 1.19 for row in rows)",
        "|id|name|amount|\n|---|---|---|\n|1001|Müller GmbH|12,345.67|",
    ],
)
def test_ordinary_requests_stay_as_they_are(find: FindSecrets, text: str) -> None:
    assert Redaction(find).text(text) == text


def test_hosts_stay_in_files_which_the_repository_has_anyway_and_not_in_words(find: FindSecrets) -> None:
    text = "url = https://shop.corp-of-ann.io/v1"

    assert Redaction(find).file(text) == text
    assert Redaction(find).text(text) == "url = https://[host]/v1"


@given(st.text(alphabet=st.sampled_from("aB3 -_.:=/@\n+(")), st.sampled_from(sorted({**SECRETS, **PERSONAL}.values())))
def test_redacting_never_brings_a_secret_back_and_twice_is_once(words: str, secret: str) -> None:
    with secret_scanner() as found:
        once = Redaction(found).text(f"{words} {secret} {words}")
        assert secret not in once
        assert secret not in Redaction(found).text(once)
