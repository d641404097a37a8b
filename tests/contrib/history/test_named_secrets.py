"""Secrets and personal data that are known by what stands before them."""

import pytest

from skillopt.contrib.history.candidates import make_candidate
from skillopt.contrib.history.redaction import Redaction
from skillopt.contrib.history.requests import Request, failure_key, repeated_failures
from skillopt.tasks import File

SAID = {
    "curl -u admin:S3cretPw9 https://example.com/api": "S3cretPw9",
    "password\uff1aS3cretPw9": "S3cretPw9",
    "das Passwort lautet Sommer2026!x": "Sommer2026",
    "log in as admin with hunter2gold": "hunter2gold",
    "heroku key 3f2b1c4d-5e6f-4a1b-8c9d-0e1f2a3b4c5d": "3f2b1c4d",
    "Cookie: session=abc123def456ghi; csrftoken=zzz111yyy": "abc123def456ghi",
    "seed phrase: " + " ".join(["abandon", "ability", "able"] * 4): "ability",
    "DB_PASS=abc12": "abc12",
    "see /Users/Ann Mueller/x": "Mueller",
    "see ~annmueller/x": "annmueller",
    "IBAN de89370400440532013000": "de8937",
    "SSN 123456789": "123456789",
    "card 4111.1111.1111.1111": "4111.1111",
    "write to ann@m\u00fcnchen.de": "nchen",
    "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44: S3cretPw9": "S3cretPw9",
    "listens at ::1 only": "::1",
    "from fe80::1: timeout": "fe80::1",
    "ann (at) firma (dot) de": "firma",
    "token AKIAIOSFODNN\n7EXAMPLQ": "7EXAMPLQ",
    "key ghp_abcdefghijklmnopqrst\nuvwxyz0123456789": "uvwxyz",
}


def request(session: str, text: str, *failures: str) -> Request:
    return Request(session, text, (), (), failures, (), "2026-01-01T00:00:00+00:00", "", "", "/home/ann/shop")


@pytest.mark.parametrize("text", SAID)
def test_what_a_word_before_it_calls_secret_or_personal_is_taken_out(text: str) -> None:
    assert SAID[text] not in Redaction(lambda _: ()).text(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Passwort ist korrekt", "the token is invalid", "password=None", "a cookie banner"),
        *("rows[::1], rows[::2] and rows[:, ::1]", "std::vector, a::b and a:b:c from 10:15:00"),
        *("docker run -u 1000:1000 image", "one_long_name_of_rows\nanother_long_name_2"),
        "\uff21\uff22\uff23\uff1a\u8bf7\u6574\u7406\u8868\u683c",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert Redaction(lambda _: ()).text(text) == text


def test_a_failure_is_redacted_before_its_digits_go() -> None:
    line = "error: login failed with password=hunter22gold77 at 10:31"
    requests = [request(f"s{at}", f"Clean table number {at} of vendors please", line) for at in range(3)]
    often = repeated_failures(requests)
    assert often == {failure_key(line): 3}
    redaction = Redaction(lambda _: ())
    made = make_candidate(requests[:1], often, lambda _: ("", ()), redaction)
    assert "password=[secret value] at 0:0" in made.task.verifier.options
    assert "hunter" not in str(made)


def test_a_secret_that_one_request_names_is_gone_from_the_others_and_from_names_of_files() -> None:
    redaction = Redaction(lambda _: ())
    requests = [
        request("s1", "Clean the vendor table, password=hunter22gold77 please"),
        request("s1", "Write the monthly report of orders, log in using hunter22gold77"),
    ]
    redaction.learn(*(one.text for one in requests))
    files = (File("data/hunter22gold77.csv", b"a"), File("data/b.csv", b"b"))
    made = [make_candidate((one,), {}, lambda _: ("c" * 40, files), redaction) for one in requests]
    assert "hunter" not in str([one.task for one in made])
    assert [[file.path for file in one.task.files] for one in made] == [["data/b.csv"]] * 2
    assert all("1 file left out" in one.why for one in made)
