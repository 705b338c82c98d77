"""Certificates are kept whole, one a judge, and a damaged one is none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.studies.certify.judges import stored

from autoreason.paths import certificates_folder
from autoreason.studies.certify.store import all_certificates, find, keep, place_of


def test_what_is_kept_is_found_again() -> None:
    keep(stored())
    assert find("openai/gpt") == stored()
    assert all_certificates() == [stored()]


def test_a_newer_certificate_takes_the_place_of_the_older() -> None:
    keep(stored(run="one"))
    keep(stored(run="two"))
    assert [each.run for each in all_certificates()] == ["two"]
    assert [path.suffix for path in certificates_folder().iterdir()] == [".json"]


def test_the_same_model_on_another_server_is_another_judge() -> None:
    keep(stored(base_url="http://127.0.0.1:8000/v1"))
    assert find("openai/gpt") is None
    assert find("openai/gpt", "http://127.0.0.1:8000/v1") is not None


def test_there_may_be_none() -> None:
    assert find("openai/gpt") is None
    assert all_certificates() == []


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"certificate": {}}', b"\xff\xfe", b"null"])
def test_a_damaged_certificate_is_none(damage: bytes) -> None:
    keep(stored("a/one"))
    keep(stored("b/other"))
    place_of("a/one").write_bytes(damage)
    assert find("a/one") is None
    assert [each.certificate.model for each in all_certificates()] == ["b/other"]


def test_a_certificate_under_a_wrong_name_is_nobodys() -> None:
    keep(stored("a/one"))
    place_of("a/one").replace(place_of("a/other"))
    assert find("a/other") is None


steady = settings(derandomize=True)
ADDRESSES = st.text(min_size=1, max_size=400).filter(lambda text: text.isprintable())


@steady
@given(ADDRESSES, ADDRESSES)
def test_every_judge_has_a_file_of_its_own_inside_the_folder(one: str, other: str) -> None:
    paths = place_of(f"p/{one}"), place_of(f"p/{other}")
    assert all(path.parent == certificates_folder() for path in paths)
    assert all(len(path.name.encode()) <= 255 for path in paths)
    assert (paths[0] == paths[1]) == (one == other)
