"""A folder is read whole, and what really happened is appended to it."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from autoreason.errors import InvalidInput
from autoreason.knowledge.folder import (
    FILE,
    append_outcomes,
    check_private,
    digest_folder,
    import_table,
    read_folder,
)
from autoreason.knowledge_records import Record, RecordedOutcome


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


FILES = {
    "approved/spring.md": "---\nresult: 38 %\nn: 2100\ngroup: spring\nwhen: 2024-03-05\n---\nHello.\n",
    "rejected/old.md": "---\ngroup: spring\n---\nNo.\n",
    "facts/price.md": "It costs 9 euros.",
    "style/voice.md": "Short sentences.",
    "feedback/anna.md": "Too long.",
    "mails.csv": "subject,opens,sent\nA,1,10\nB,2,10\n",
}


def test_a_folder_is_the_verdict_and_front_matter_adds_to_it(tmp_path: Path) -> None:
    content = read_folder(write(tmp_path, FILES))
    assert content.problems == ()
    by_source = {record.source: record for record in content.records}
    kinds = {each.kind for each in content.records}
    assert kinds == {"verdict", "fact", "style", "feedback", "outcome"}
    spring = by_source["approved/spring.md"]
    assert (spring.verdict, spring.group, spring.when) == ("approved", "spring", "2024-03-05")
    assert spring.result == RecordedOutcome(metric="result", value=0.38, n=2100)
    assert by_source["rejected/old.md"].verdict == "rejected"
    tables = [(each.file, each.records) for each in content.files if each.columns]
    assert tables == [("mails.csv", 2)]


def test_the_digest_changes_with_any_file_and_with_nothing_else(tmp_path: Path) -> None:
    before = read_folder(write(tmp_path, FILES)).digest
    assert digest_folder(tmp_path) == before
    write(tmp_path, {".hidden": "x", ".tests.jsonl": '{"text": "a", "value": 1}\n'})
    os.utime(tmp_path / "mails.csv", (1, 1))
    assert digest_folder(tmp_path) == before
    (tmp_path / "facts" / "price.md").write_text("It costs 8 euros.")
    assert digest_folder(tmp_path) != before


def test_what_cannot_be_read_is_named_file_by_file(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "approved/empty.md": "", "notes.docx": "x", "loose.md": "text"})
    write(tmp_path, {"approved/torn.md": "---\nwhen: [\n---\nx"})
    write(tmp_path, {"approved/when.md": "---\nwhen: soon\n---\nx"})
    (tmp_path / "approved" / "binary.md").write_bytes(b"\0\1\2" * 10)
    os.mkfifo(tmp_path / "pipe.csv")
    content = read_folder(tmp_path)
    assert len(content.records) == 7
    assert {problem.partition(":")[0] for problem in content.problems} == {
        *("approved/empty.md", "notes.docx", "loose.md", "approved/torn.md", "approved/when.md"),
        "approved/binary.md",
    }


def test_a_file_of_a_spreadsheet_is_to_be_saved_as_csv(tmp_path: Path) -> None:
    (tmp_path / "mails.xlsx").write_bytes(b"PK\3\4\0\0\0\0" * 9)
    (problem,) = read_folder(tmp_path).problems
    assert problem.startswith("mails.xlsx: not read; save a table as CSV, ")
    with pytest.raises(InvalidInput, match="it is a binary file; save a table as CSV"):
        import_table(tmp_path / "mails.xlsx", tmp_path)


def test_no_link_is_followed(tmp_path: Path) -> None:
    secret = write(tmp_path / "outside", {"secret.md": "secret", "t.csv": "text,value\nsecret,1\n"})
    folder = write(tmp_path / "kb", FILES)
    (folder / "approved" / "loop").symlink_to(folder)
    (folder / "self").symlink_to(folder / "self")
    (folder / "approved" / "secret.md").symlink_to(secret / "secret.md")
    (folder / "more").symlink_to(secret)
    content = read_folder(folder)
    assert len(content.records) == 7
    assert len(content.problems) == 4
    assert all("a link, which is not followed" in problem for problem in content.problems)
    assert "secret" not in str(content.records)


def test_private_files_are_private_whatever_they_say_as_are_those_with_unknown_keys(
    tmp_path: Path,
) -> None:
    config = 'private = ["approved/*", "*.csv"]\n'
    content = read_folder(write(tmp_path, {**FILES, "kb.toml": config}))
    private = {record.source.partition(":")[0] for record in content.records if record.private}
    assert private == {"approved/spring.md", "mails.csv"}
    write(tmp_path, {"style/mine.md": "---\nprivate: true\n---\nx"})
    assert {r.source for r in read_folder(tmp_path).records if r.private} >= {"style/mine.md"}
    content = read_folder(write(tmp_path / "more", {"facts/a.md": "---\nprivte: true\n---\nx"}))
    assert [record.private for record in content.records] == [True]
    assert content.problems == (
        "facts/a.md: unknown keys of its front matter (privte); "
        "until they are corrected or removed, it is private",
    )


@pytest.mark.parametrize(
    "keys",
    ["result: 3\nn: -5", "result: 3\nse: -1", "result: 3\nbetter: downwards", "n: 20%\nresult: 1"],
)
def test_a_text_with_impossible_figures_is_named(tmp_path: Path, keys: str) -> None:
    content = read_folder(write(tmp_path, {**FILES, "approved/a.md": f"---\n{keys}\n---\nx"}))
    assert len(content.records) == 7
    assert [each.partition(":")[0] for each in content.problems] == ["approved/a.md"]


@pytest.mark.parametrize("pattern", ["MAILS.csv", "nothere/*"])
def test_a_private_pattern_that_matches_nothing_may_be_mistyped(
    tmp_path: Path, pattern: str
) -> None:
    write(tmp_path, {**FILES, "kb.toml": f'private = ["{pattern}"]\n'})
    (problem,) = read_folder(tmp_path).problems
    assert problem == f"kb.toml: {pattern!r} matches no file here"
    for place in (tmp_path, tmp_path / "mails.csv"):
        with pytest.raises(InvalidInput, match="matches no file here, so something private may be"):
            check_private(place)


def test_names_in_the_rules_that_no_file_has_are_named_but_of_an_empty_private_folder(
    tmp_path: Path,
) -> None:
    config = 'private = ["./mails.csv"]\nallow = ["style/x.md"]\n[tables."march.csv"]\nn = "N"\n'
    content = read_folder(write(tmp_path, {**FILES, "kb.toml": config}))
    assert content.problems == (
        "kb.toml: 'style/x.md' matches no file here",
        "kb.toml: 'march.csv' matches no file here",
    )
    assert {r.source.partition(":")[0] for r in content.records if r.private} == {"mails.csv"}
    check_private(tmp_path)
    write(tmp_path, {"kb.toml": '[tables."march.csv"]\nprivate = "Secret"\n'})
    with pytest.raises(InvalidInput, match=r"'march.csv' matches no file here, so something"):
        check_private(tmp_path)
    (tmp_path / "clients").mkdir()
    check_private(write(tmp_path, {**FILES, "kb.toml": 'private = ["clients/*"]\n'}))


@pytest.mark.parametrize("config", ["private = [", "privat = []", "private = 3", 'better = "more"'])
def test_a_folder_whose_rules_cannot_be_read_is_refused(tmp_path: Path, config: str) -> None:
    with pytest.raises(InvalidInput, match=r"kb\.toml cannot be used: .*; correct it"):
        read_folder(write(tmp_path, {**FILES, "kb.toml": config}))


def test_columns_are_named_for_all_tables_or_for_one(tmp_path: Path) -> None:
    config = 'better = "lower"\n[columns]\ntext = "B"\n[tables."two.csv"]\ntext = "C"\n'
    table = "B,C,value\nbb,cc,1\ndd,ee,2\n"
    content = read_folder(write(tmp_path, {"one.csv": table, "two.csv": table, "kb.toml": config}))
    assert [record.text for record in content.records] == ["bb", "dd", "cc", "ee"]
    assert {r.result.better for r in content.records if r.result} == {"lower"}


def test_a_table_by_itself_is_a_folder_of_one_file(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    assert len(read_folder(tmp_path / "mails.csv").records) == 2
    for missing in (tmp_path / "facts" / "price.md", tmp_path / "nowhere", "x" * 9999, "~none/x"):
        with pytest.raises(InvalidInput, match="is neither a folder nor a CSV or JSONL table"):
            read_folder(missing)


def outcome(text: str) -> Record:
    result = RecordedOutcome(metric="opens", value=0.38, n=2100)
    return Record(text=text, kind="outcome", result=result, group="spring", when="2024-03-05")


def test_what_is_appended_is_read_again_and_nothing_is_appended_twice(tmp_path: Path) -> None:
    assert len(append_outcomes(tmp_path, [outcome("a"), outcome("b"), outcome("a")])) == 2
    assert [each.text for each in append_outcomes(tmp_path, [outcome("b"), outcome("c")])] == ["c"]
    content = read_folder(tmp_path)
    assert [record.id for record in content.records] == [outcome(text).id for text in "abc"]
    assert content.problems == ()
    with pytest.raises(InvalidInput, match=r"no folder .* for outcomes"):
        append_outcomes(tmp_path / "nowhere", [outcome("a")])


def test_a_line_that_was_cut_off_spoils_no_other_and_many_writers_lose_nothing(
    tmp_path: Path,
) -> None:
    append_outcomes(tmp_path, [outcome("a")])
    with (tmp_path / FILE).open("a") as file:
        file.write('{"text": "to')
    append_outcomes(tmp_path, [outcome("b")])
    content = read_folder(tmp_path)
    assert [record.text for record in content.records] == ["a", "b"]
    assert len(content.problems) == 1
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: append_outcomes(tmp_path, [outcome(f"text {at}")]), range(40)))
    assert len(read_folder(tmp_path).records) == 42


def test_an_outcome_that_several_lines_say_alike_is_used_once(tmp_path: Path) -> None:
    mails = "subject,opens,sent,list,private\nA,1,10,x,\nB,2,10,x,\nA,1,10,x,\nA,1,10,y,\n"
    files = {"export.csv": mails, "marks.csv": "subject,score\nA,4\nA,4\n"}
    files["export (1).csv"] = mails.replace("B,2,10,x,", "B,2,10,x,yes")
    content = read_folder(write(tmp_path, files))
    assert content.problems == (
        "export (1).csv: 1 duplicate left out, already in export (1).csv",
        "export.csv: 4 duplicates left out, already in export (1).csv",
    )
    assert [each.records for each in content.files] == [3, 0, 2]
    outcomes = [(each.text, each.group, each.private) for each in content.records if each.result]
    assert sorted(outcomes) == [("A", "x", False), ("A", "y", False), ("B", "x", True)]
    # What is private in a copy alone must not leave with the first.
    assert read_folder(write(tmp_path, {"a.csv": mails})).records[1].private
    assert import_table(tmp_path / "export.csv", tmp_path)[1] == 0


def test_a_sending_that_is_exported_twice_with_other_numbers_counts_once(tmp_path: Path) -> None:
    mails = (
        "subject,opens,sent,list,date\nA,{},x,2025-03-01\nB,2,10,x,2025-03-01\nA,2,9,x,2025-03-08\n"
    )
    files = {
        "1.csv": mails.format("20,90"),
        "2.csv": mails.format("24,91"),
        "kb.toml": 'private = ["1.csv"]',
    }
    content = read_folder(write(tmp_path, files))
    said = "1 sending is there twice with other numbers; the line with most readers is used: "
    assert f"{said}1.csv:2 and 2.csv:2" in content.problems
    found = [(each.text, each.result and each.result.n, each.private) for each in content.records]
    assert sorted(found) == [("A", 9, True), ("A", 91, True), ("B", 10, True)]


def test_a_table_is_read_by_the_rules_of_the_folder_it_goes_to(tmp_path: Path) -> None:
    (tmp_path / "kb.toml").write_text('better = "lower"\n[tables."t.csv"]\ntext = "B"\n')
    table = tmp_path / "t.csv"
    table.write_text("A,B,value\na,b,1\nc,d,2\ne,,3\n")
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb.toml").rename(tmp_path / "kb" / "kb.toml")
    found = import_table(table, tmp_path / "kb")[0]
    assert [record.text for record in found.records] == ["b", "d"]
    assert found.records[0].result == RecordedOutcome(metric="value", value=1.0, better="lower")
    assert found.problems == ["t.csv, line 4: there is no text"]
    table.write_text("A,B\nx,y\n")
    with pytest.raises(InvalidInput, match="says how a text did"):
        import_table(table, tmp_path / "kb")


def test_records_that_say_the_same_have_one_id_wherever_their_words_come_from() -> None:
    named = RecordedOutcome(metric="opens", value=0.4, better="higher")
    computed = msgspec.structs.replace(named, better="HIGHER".lower())
    one, other = (Record(text="Tea", kind="outcome", result=each) for each in (named, computed))
    assert one.id == other.id
