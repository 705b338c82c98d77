"""Certificates are stored whole, one per judge, and a damaged one counts as missing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.studies.certify.judges import stored

from autoreason.paths import certificates_folder
from autoreason.studies.certify.certificate_files import (
    all_certificates,
    certificate_path,
    find_certificate,
    write_certificate,
)


def test_what_is_kept_is_found_again() -> None:
    write_certificate(stored())
    assert find_certificate("openai/gpt") == stored()
    assert all_certificates() == [stored()]


def test_a_newer_certificate_takes_the_place_of_the_older() -> None:
    write_certificate(stored(run="one"))
    write_certificate(stored(run="two"))
    assert [each.run for each in all_certificates()] == ["two"]
    assert [path.suffix for path in certificates_folder().iterdir()] == [".json"]


def test_the_same_model_on_another_server_is_another_judge() -> None:
    write_certificate(stored(base_url="http://127.0.0.1:8000/v1"))
    assert find_certificate("openai/gpt") is None
    assert find_certificate("openai/gpt", "http://127.0.0.1:8000/v1") is not None


def test_there_may_be_none() -> None:
    assert find_certificate("openai/gpt") is None
    assert all_certificates() == []


def test_a_certificate_is_for_its_user_alone() -> None:
    path = certificate_path("openai/gpt")
    for mode in (None, 0o644):
        if mode:
            path.chmod(mode)
        write_certificate(stored())
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"certificate": {}}', b"\xff\xfe", b"null"])
def test_a_damaged_certificate_is_none(damage: bytes) -> None:
    write_certificate(stored("a/one"))
    write_certificate(stored("b/other"))
    certificate_path("a/one").write_bytes(damage)
    assert find_certificate("a/one") is None
    assert [each.certificate.model for each in all_certificates()] == ["b/other"]


def test_a_certificate_under_a_wrong_name_is_no_ones() -> None:
    write_certificate(stored("a/one"))
    certificate_path("a/one").replace(certificate_path("a/other"))
    assert find_certificate("a/other") is None


steady = settings(derandomize=True)
ADDRESSES = st.text(min_size=1, max_size=400).filter(lambda text: text.isprintable())


@steady
@given(ADDRESSES, ADDRESSES)
def test_every_judge_has_a_file_of_its_own_inside_the_folder(one: str, other: str) -> None:
    paths = certificate_path(f"p/{one}"), certificate_path(f"p/{other}")
    assert all(path.parent == certificates_folder() for path in paths)
    assert all(len(path.name.encode()) <= 255 for path in paths)
    assert (paths[0] == paths[1]) == (one == other)
