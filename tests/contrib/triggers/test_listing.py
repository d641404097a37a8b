"""The listing budget: what clients show of a library."""

from dataclasses import replace

import pytest

from skillopt.contrib.triggers.listing import CLIENTS, ListedSkill, ListingClient, list_skills

CLAUDE, _, CODEX = CLIENTS


def skills(*lengths: int) -> list[ListedSkill]:
    names = [f"skill-{at}" for at in range(len(lengths))]
    return [ListedSkill(name, "x" * length, f"r1/{name}/SKILL.md") for name, length in zip(names, lengths, strict=True)]


def small(client: ListingClient, window: int) -> ListingClient:
    return replace(client, window=window, fixed=0, sharing=())


@pytest.mark.parametrize("client", CLIENTS)
def test_a_small_library_is_shown_whole(client: ListingClient) -> None:
    listing = list_skills(client, skills(60, 0, 200))
    assert (listing.silent, listing.shortened, listing.shown) == ((), (), listing.lengths)
    assert listing.needed <= client.budget


def test_claude_code_shows_a_description_whole_or_not_at_all_and_a_short_one_after_one_that_does_not_fit() -> None:
    listing = list_skills(small(CLAUDE, 2500), skills(30, 90, 20))  # 100 characters, of which the names take 34
    assert listing.shown == {"skill-0": 30, "skill-1": 0, "skill-2": 20}
    assert listing.silent == ("skill-1",)
    assert listing.needed > listing.client.budget == 100


def test_codex_shortens_all_descriptions_alike_and_gives_what_short_ones_leave_to_long_ones() -> None:
    listing = list_skills(small(CODEX, 3000), skills(8, 400, 402))  # 60 tokens
    short, *long = listing.shown.values()
    assert short == 8
    assert max(long) - min(long) <= 5
    assert 8 < min(long) <= max(long) < 400
    assert listing.shortened == ("skill-1", "skill-2")


def test_a_description_longer_than_a_client_lists_counts_as_shortened() -> None:
    assert list_skills(CLAUDE, skills(1600)).shown == {"skill-0": 1536}
    assert list_skills(CODEX, skills(1600)).shown == {"skill-0": 1024}


def test_what_a_clients_own_skills_take_is_not_left_for_the_library() -> None:
    library = skills(*[200] * 12)
    assert list_skills(CLAUDE, library).silent
    assert not list_skills(replace(CLAUDE, fixed=0, sharing=()), library).silent
