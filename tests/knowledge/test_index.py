"""The index: what it finds, and that it is never older than the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoreason.knowledge.index import Index
from autoreason.knowledge_records import Record

TEXTS = [
    "Última chamada: promoção de verão",
    "عرض خاص لمدة يوم واحد",
    "限时优惠 今天结束",
    "Free shipping on every order",
    "Шесть причин читать нас",
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No index outside the test's folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def fact(text: str, when: str = "") -> Record:
    """A record that says nothing of an outcome."""
    return Record(text=text, kind="fact", when=when)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("promocao", TEXTS[0]),
        ("PROMOÇÃO", TEXTS[0]),
        ("خاصّ", TEXTS[1]),
        ("优惠", TEXTS[2]),
        ("惠", TEXTS[2]),
        ("今天的优惠", TEXTS[2]),
        ('shipping "NEAR" OR (*', TEXTS[3]),
        ("причин", TEXTS[4]),
    ],
)
def test_texts_in_any_script_are_found(words: str, text: str) -> None:
    with Index.of(map(fact, TEXTS)) as index:
        assert [found.record.text for found in index.nearest(words)] == [text]


@pytest.mark.parametrize("words", ["", "!!!", "absent", '"', "\0", "\ud800"])
def test_words_that_are_nowhere_find_nothing(words: str) -> None:
    with Index.of(map(fact, TEXTS)) as index:
        assert list(index.nearest(words)) == []


def test_the_nearest_come_first_and_only_until_a_day() -> None:
    records = [
        fact("tea and cake", "2024-01-02"),
        fact("green tea and black tea", "2024-01-01"),
        fact("tea", ""),
        fact("coffee", "2024-01-01"),
    ]
    with Index.of(records) as index:
        assert next(index.nearest("black tea")).record.text == "green tea and black tea"
        found = {each.record.text for each in index.nearest("tea", until="2024-01-01")}
        assert found == {"green tea and black tea"}


def test_long_texts_are_looked_for_by_their_rarer_words() -> None:
    records = [fact(f"the word number {at}") for at in range(50)]
    with Index.of(records) as index:
        assert [
            each.record.text for each in index.nearest("the word number 7", max_postings=20)
        ] == ["the word number 7"]


def write(folder: Path, text: str) -> Path:
    """A folder with one fact."""
    (folder / "facts").mkdir(parents=True, exist_ok=True)
    (folder / "facts" / "one.md").write_text(text)
    return folder


def texts(folder: Path, words: str) -> list[str]:
    """What is found in a folder."""
    with Index.open(folder) as index:
        return [found.record.text for found in index.nearest(words)]


def test_the_index_is_next_to_the_files_and_follows_them(tmp_path: Path) -> None:
    folder = write(tmp_path / "kb", "tea is hot")
    assert texts(folder, "hot") == ["tea is hot"]
    file = folder / ".index.sqlite"
    built = file.stat().st_mtime_ns
    assert texts(folder, "tea") == ["tea is hot"]
    assert file.stat().st_mtime_ns == built
    write(folder, "tea is cold")
    assert texts(folder, "tea") == ["tea is cold"]
    assert file.stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in folder.iterdir()) == [".index.sqlite", "facts"]


@pytest.mark.parametrize("damage", [b"", b"no database", None])
def test_a_damaged_index_is_built_again(tmp_path: Path, damage: bytes | None) -> None:
    folder = write(tmp_path / "kb", "tea is hot")
    texts(folder, "tea")
    file = folder / ".index.sqlite"
    file.write_bytes(file.read_bytes()[:5000] if damage is None else damage)
    assert texts(folder, "tea") == ["tea is hot"]


def test_a_folder_that_cannot_be_written_is_indexed_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "kb", "tea is hot")
    (folder / ".index.sqlite").mkdir()
    assert texts(folder, "tea") == ["tea is hot"]
    (built,) = (tmp_path / "cache" / "autoreason" / "knowledge").iterdir()
    assert built.suffix == ".sqlite"
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert texts(folder, "tea") == ["tea is hot"]
