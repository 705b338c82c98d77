"""Python that others wrote is read, never run, and never warned about."""

from __future__ import annotations

from pathlib import Path

from autoreason.programs.problems.set_sources import compile_error, parse_python


def test_reading_runs_nothing(tmp_path: Path) -> None:
    source = f"open({str(tmp_path / 'left')!r}, 'w')"
    assert parse_python(source) is not None
    assert compile_error(source) is None
    assert list(tmp_path.iterdir()) == []


def test_what_python_would_warn_of_is_not_our_users_matter() -> None:
    assert parse_python("x = '\\w'") is not None
    assert compile_error("x = '\\w'; assert (1, 2)") is None


def test_what_is_wrong_is_told_with_its_line() -> None:
    assert compile_error("x = 1\ny = (") == "line 2 is not valid Python"
    assert compile_error("return 1") == "line 1 is not valid Python"


def test_nothing_that_is_no_python_gets_through() -> None:
    for source in ("x = ", "\0", "(" * 5000):
        assert parse_python(source) is None
        assert compile_error(source)
