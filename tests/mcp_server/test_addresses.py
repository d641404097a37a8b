from hypothesis import given
from hypothesis import strategies as st

from skillopt_mcp.catalogue import read_address, skill_address

NAMES = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8})?", fullmatch=True)
VERSIONS = st.none() | st.from_regex(r"[0-9a-f]{7,40}", fullmatch=True)
PATHS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(NAMES, PATHS, VERSIONS)
def test_what_is_written_is_read_back(name: str, path: str, version: str | None) -> None:
    address = skill_address(name, path, version)

    assert read_address(str(address)) == address
    assert str(address).isascii()


@given(NAMES, PATHS, PATHS)
def test_different_files_have_different_addresses(name: str, one: str, other: str) -> None:
    assert (str(skill_address(name, one)) == str(skill_address(name, other))) == (one == other)


def test_the_folder_of_every_version_ends_with_the_name_of_the_skill() -> None:
    assert str(skill_address("rows", "", "0123456")) == "skill://_versions/0123456/rows"


@given(st.text(max_size=60))
def test_any_text_is_read_without_failing(text: str) -> None:
    read_address(text)
    read_address(f"skill://rows/{text}")
