"""Outcomes appended to a folder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autoreason.errors import InvalidInput
from autoreason.knowledge.folder import read_folder
from autoreason.knowledge.outcome_file import FILE, append_outcomes, encode_records, read_outcomes
from autoreason.knowledge_records import Record, RecordedOutcome


def outcome(text: str) -> Record:
    """A record with a result."""
    result = RecordedOutcome(metric="opens", value=0.38, n=2100)
    return Record(text=text, kind="outcome", result=result, group="spring", when="2024-03-05")


def test_what_is_appended_is_read_again_and_nothing_is_appended_twice(tmp_path: Path) -> None:
    assert len(append_outcomes(tmp_path, [outcome("a"), outcome("b"), outcome("a")])) == 2
    assert [each.text for each in append_outcomes(tmp_path, [outcome("b"), outcome("c")])] == ["c"]
    content = read_folder(tmp_path)
    assert [record.id for record in content.records] == [outcome(text).id for text in "abc"]
    assert content.problems == ()


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    append_outcomes(tmp_path, [outcome("a")])
    with (tmp_path / FILE).open("a") as file:
        file.write('{"text": "to')
    append_outcomes(tmp_path, [outcome("b")])
    content = read_folder(tmp_path)
    assert [record.text for record in content.records] == ["a", "b"]
    assert len(content.problems) == 1


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: append_outcomes(tmp_path, [outcome(f"text {at}")]), range(40)))
    assert len(read_folder(tmp_path).records) == 40


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no folder .* for outcomes"):
        append_outcomes(tmp_path / "nowhere", [outcome("a")])


def test_a_table_is_read_by_the_rules_of_the_folder_it_goes_to(tmp_path: Path) -> None:
    (tmp_path / "kb.toml").write_text('better = "lower"\n[tables."t.csv"]\ntext = "B"\n')
    table = tmp_path / "t.csv"
    table.write_text("A,B,value\na,b,1\nc,d,2\ne,,3\n")
    found = read_outcomes(table, tmp_path)
    assert [record.text for record in found.records] == ["b", "d"]
    assert found.records[0].result == RecordedOutcome(metric="value", value=1.0, better="lower")
    assert found.problems == ["t.csv, line 4: there is no text"]
    table.write_text("A,B\nx,y\n")
    with pytest.raises(InvalidInput, match="says how a text did"):
        read_outcomes(table, tmp_path)


def test_records_are_one_a_line() -> None:
    assert encode_records([outcome("a\nb"), outcome("c")]).count(b"\n") == 2


def test_a_table_that_cannot_be_decoded_is_refused_by_its_name_and_read_once_it_is_named(
    tmp_path: Path,
) -> None:
    file = tmp_path / "march.csv"
    file.write_bytes("subject,opens,sent\nПоследний день доставки,10,100\n".encode("cp1251"))  # noqa: RUF001
    folder = tmp_path / "kb"
    folder.mkdir()
    with pytest.raises(InvalidInput, match=r"march\.csv: it is not UTF-8, .* name its encoding"):
        read_outcomes(file, folder)
    (folder / "kb.toml").write_text('encoding = "cp1251"\n')
    (record,) = append_outcomes(folder, read_outcomes(file, folder).records)
    assert record.text == "Последний день доставки"
    # What is appended is UTF-8, whatever is named for other files.
    assert [each.text for each in read_folder(folder).records] == [record.text]
