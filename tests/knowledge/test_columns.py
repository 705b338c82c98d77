"""How letters, numbers and dates of an export are read: recognised or named, never guessed in silence."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.errors import InvalidInput
from autoreason.knowledge.columns import (
    NumberFormat,
    decode_text,
    guess_day_first,
    guess_number_format,
    is_earlier,
    read_date,
)

CHINESE = "标题,打开数,发送数,活动\n最后一天：全场包邮！,798,2100,春季\n新品上市，欢迎选购,480,2000,春季\n"  # noqa: RUF001
JAPANESE = "件名,開封数,配信数,キャンペーン\n本日まで！送料無料のお知らせ,798,2100,春\n新商品のご案内です,480,2000,春\n"  # noqa: RUF001
KOREAN = "제목,열람,발송\n오늘까지 무료 배송,798,2100\n새로운 상품을 소개합니다,480,2000\n"
RUSSIAN = "Тема,Открытия\nПоследний день бесплатной доставки,798\n"  # noqa: RUF001
ARABIC = "العنوان,الفتح\nآخر يوم للشحن المجاني,798\n"
WESTERN = {
    "German": "Betreff,Öffnungen\nNur für Sie – größere Rabatte,798\n„Schöne Grüße“ aus Köln,480\n",
    "Portuguese": "Assunto,Aberturas\nÚLTIMA PROMOÇÃO da estação,798\nAtenção: não há mais,480\n",
    "French": "Objet,Clics\nDernière journée : profitez-en dès aujourd’hui,798\nÉté à 20 €,480\n",
}


@cases(
    ("text", "encoding", "recognised"),
    [
        (CHINESE, "gbk", "gb18030"),
        (CHINESE, "gb18030", "gb18030"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE, "cp932", "cp932"),
        (KOREAN, "cp949", "cp949"),
        (RUSSIAN, "cp1251", "cp1251"),
        (ARABIC, "cp1256", "cp1256"),
        (CHINESE.replace("发", "發"), "big5hkscs", "big5hkscs"),
        (JAPANESE, "euc_jp", "euc_jp"),
        *((text, "cp1252", "cp1252") for text in WESTERN.values()),
        *((f"subject\n{text}\n", "cp1252", "cp1252") for text in ("Café", "5 € off", "it’s on")),
        (CHINESE, "utf-16", "utf-16"),
        (WESTERN["German"], "utf-16-be", "utf-16-be"),
        *((text, "utf-8", "") for text in (CHINESE, JAPANESE, KOREAN, ARABIC)),
        (CHINESE, "utf-8-sig", ""),
    ],
)
def test_the_encoding_of_an_export_is_recognised_by_its_characters(
    text: str, encoding: str, recognised: str
) -> None:
    data = (3 * text).encode(encoding, "ignore")
    assert decode_text(data) == (data.decode(encoding), recognised)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("标题,n\n包邮,1\n", "gbk"), ("標題,n\n免運費,1\n", "big5"), ("Тема,n\nДень,1\n", "cp1251")],  # noqa: RUF001
)
def test_what_leaves_doubt_is_refused_until_it_is_named(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    with pytest.raises(InvalidInput, match=r"is not recognised.*; name its encoding in kb\.toml"):
        decode_text(data)
    assert decode_text(data, encoding) == (text, encoding)


def test_what_is_named_is_for_files_not_utf_8_and_a_sign_that_was_cut_spoils_nothing() -> None:
    assert decode_text(JAPANESE.encode(), "gbk") == (JAPANESE, "")
    for name in ("ascii", "klingon", "base64", "a\0b", "é"):
        with pytest.raises(InvalidInput, match="neither UTF-8 nor "):
            decode_text(JAPANESE.encode("cp932"), name)
    data = (CHINESE + "最后").encode()[:-1]
    assert decode_text(data)[0].startswith(CHINESE)


@given(st.text(st.characters(codec="gb2312", exclude_categories=["Cc"]), min_size=1))
def test_text_in_utf_8_is_never_taken_for_anything_else(text: str) -> None:
    assert decode_text(text.encode()) == (text, "")


@given(st.binary(max_size=200), st.sampled_from(["", "gbk", "cp932"]))
def test_whatever_a_file_contains_it_is_decoded_or_refused(data: bytes, named: str) -> None:
    with suppress(InvalidInput):
        assert isinstance(decode_text(data, named)[0], str)


@cases(
    ("header", "values", "commas", "numbers"),
    [
        ("open rate", ["38.5%", "4 %"], False, [0.385, 0.04]),
        ("open rate", ["38,5 %", "4,0 %"], True, [0.385, 0.04]),
        ("Öffnungsrate", ["0,385", "0,04"], True, [0.385, 0.04]),
        ("open rate", ["38.5", "0.9"], False, [0.385, 0.009]),
        ("open rate", ["0.385", "0.9"], False, [0.385, 0.9]),
        ("revenue", ["1.234,50 €", "12,00 €"], False, [1234.5, 12.0]),
        ("revenue", ["$1,234.50", "$12"], False, [1234.5, 12.0]),
        ("revenue", ["1\u00a0234,5", "-3,25"], False, [1234.5, -3.25]),
        ("revenue", ["1'234.5", "7e2"], False, [1234.5, 700.0]),
        ("value", [0.25, 3], False, [0.25, 3.0]),
        ("value", ["1,234", "2,500"], False, [1234.0, 2500.0]),
        ("value", ["n/a", "–", ""], False, [None, None, None]),
        ("open rate", ["24,1 %", "25,0 %", "3.2%"], False, [0.241, 0.25, 0.032]),
        ("open rate", ["24.1 %", "25.0 %", "3,25%"], True, [0.241, 0.25, 0.0325]),
        ("open rate", ["24,1 %", "0.241%"], False, [0.241, 0.00241]),
        ("revenue", ["12,50", "3,25", "1,234.50"], True, [12.5, 3.25, 1234.5]),
        ("revenue", ["1.5e10", "12345.678", "1,00,000"], True, [1.5e10, 12345.678, 100_000.0]),
    ],
)
def test_numbers_are_read_as_their_column_writes_them(
    header: str, values: list[object], commas: bool, numbers: list[float | None]
) -> None:
    form = guess_number_format(header, values, commas=commas)
    assert [form.read(value) for value in values] == pytest.approx(numbers)


@pytest.mark.parametrize(
    ("values", "doubtful"),
    [
        (["24,1 %", "25,0 %", "3.2%", "3.241%"], "3.241%"),
        (["24,1 %", "25,0 %", "3.241%"], "3.241%"),
        (["24.1 %", "3,241 %"], "3,241 %"),
        (["12,50", "3.25", "1.250"], "1.250"),
    ],
)
def test_a_number_that_its_column_leaves_in_doubt_is_refused(
    values: list[object], doubtful: str
) -> None:
    form = guess_number_format("value", values, commas=False)
    with pytest.raises(ValueError, match=r"two ways; write [13].2[45][10]0 or [13]2[45][01]$"):
        form.read(doubtful)
    for value in values:
        assert value == doubtful or form.read(value)


@pytest.mark.parametrize("text", ["1.2.3", "1,23.4", "2024.03.05", "24,1,5", "1,234.5,6"])
def test_what_groups_no_thousands_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        NumberFormat().read(text)


@cases("text", ["2,100", "2.100", "2100", " 2 100 ", "2'100", "2100.0"])
def test_counts_may_group_thousands_either_way(text: str) -> None:
    assert NumberFormat().read_count(text) == 2100


@cases("value", ["abc", "1.2.3.4x", True, [1], "inf", "2100.5", "-3", "0.241", "0,241", "3.241%"])
def test_what_is_no_count_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="is not a "):
        NumberFormat().read_count(value)


@given(st.integers(0, 10**12), st.sampled_from([",", ".", " ", "'", "\u00a0", ""]))
def test_any_count_is_read_again(number: int, sign: str) -> None:
    assert NumberFormat().read_count(f"{number:,}".replace(",", sign)) == number


@cases(
    ("values", "day_first", "dates"),
    [
        (["2024-03-05"], False, ["2024-03-05"]),
        (["2024-03-05T10:30:00Z"], False, ["2024-03-05T10:30"]),
        (["2024-03-05T10:30+02:00"], False, ["2024-03-05T08:30"]),
        (["03/05/2024", "12/31/2024"], False, ["2024-03-05", "2024-12-31"]),
        (["05/03/2024", "31/12/2024"], False, ["2024-03-05", "2024-12-31"]),
        (["05/03/2024"], True, ["2024-03-05"]),
        (["05.03.2024"], False, ["2024-03-05"]),
        (["Mar 05, 2024 10:30 am"], False, ["2024-03-05T10:30"]),
        ([201305, 201402], False, ["2013-01-29", "2014-01-08"]),
        (["2024-W02"], False, ["2024-01-08"]),
        (["16. Januar 2025", "16-Jan-25", "Jan 16, 2025"], False, ["2025-01-16"] * 3),
        (["3. März 25", "3-Mrz-2025", "March 3, 2025"], False, ["2025-03-03"] * 3),
        (["Do., 16. Okt. 2025 09:30 Uhr"], False, ["2025-10-16T09:30"]),
        (["2024-05"], False, ["2024-05-01"]),
        (["1709634600"], False, ["2024-03-05T10:30"]),
        (["", None], False, ["", ""]),
    ],
)
def test_dates_are_read_as_their_column_writes_them(
    values: list[object], day_first: bool, dates: list[str]
) -> None:
    order = guess_day_first(values, likely=day_first)
    assert [read_date(value, order) for value in values] == dates
    with pytest.raises(ValueError, match="'soon' is not a date"):
        read_date("soon", order)


@cases(
    ("one", "other", "earlier"),
    [
        ("2024-03-05", "2024-03-06", True),
        ("2024-03-05", "2024-03-05", False),
        ("2024-03-05", "2024-03-05T10:00", False),
        ("2024-03-05T09:00", "2024-03-05T10:00", True),
        ("", "2024-03-05", False),
        ("2024-03-05", "", False),
    ],
)
def test_only_what_is_surely_earlier_is_earlier(one: str, other: str, earlier: bool) -> None:
    assert is_earlier(one, other) is earlier
