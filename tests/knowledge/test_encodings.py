"""What a file is encoded in: recognised by its characters, or named, never guessed in silence."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.errors import InvalidInput
from autoreason.knowledge.encodings import check_encoding, decode_text

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


@pytest.mark.parametrize(
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
        (CHINESE, "utf-16", "utf-16"),
        (WESTERN["German"], "utf-16-be", "utf-16-be"),
        *((text, "utf-8", "") for text in (CHINESE, JAPANESE, KOREAN, ARABIC)),
        (CHINESE, "utf-8-sig", ""),
    ],
)
def test_the_encoding_of_an_export_is_recognised_by_its_characters(
    text: str, encoding: str, recognised: str
) -> None:
    data = text.encode(encoding, "ignore")
    assert decode_text(data) == (data.decode(encoding), recognised)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("标题,n\n包邮,1\n", "gbk"), ("標題,n\n免運費,1\n", "big5"), ("Тема,n\nДень,1\n", "cp1251")],  # noqa: RUF001
)
def test_what_leaves_doubt_is_refused_until_it_is_named(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    with pytest.raises(
        InvalidInput, match=r"cannot be recognised.*; name its encoding in kb\.toml"
    ):
        decode_text(data)
    assert decode_text(data, encoding) == (text, encoding)


@pytest.mark.parametrize("text", ["Café", "naïve", "5 € off", "“Hello” – it’s on", "Ação"])
def test_a_letter_or_two_between_latin_ones_are_western(text: str) -> None:
    assert decode_text(f"subject\n{text}\n".encode("cp1252")).text == f"subject\n{text}\n"


def test_what_is_named_is_for_files_that_are_not_utf_8() -> None:
    assert decode_text(JAPANESE.encode(), "gbk") == (JAPANESE, "")
    with pytest.raises(InvalidInput, match="neither UTF-8 nor ascii"):
        decode_text(JAPANESE.encode("cp932"), "ascii")


def test_a_sign_that_was_cut_spoils_nothing_else() -> None:
    data = (CHINESE + "最后").encode()[:-1]
    assert decode_text(data).text.startswith(CHINESE)


@pytest.mark.parametrize("name", ["klingon", "base64", "rot13", "a\0b", "é"])
def test_what_is_no_encoding_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="there is no encoding"):
        check_encoding(name)


@given(st.text(st.characters(codec="gb2312", exclude_categories=["Cc"]), min_size=1))
def test_text_in_utf_8_is_never_taken_for_anything_else(text: str) -> None:
    assert decode_text(text.encode()) == (text, "")


@given(st.binary(max_size=200), st.sampled_from(["", "gbk", "cp932"]))
def test_whatever_a_file_contains_it_is_decoded_or_refused(data: bytes, named: str) -> None:
    with suppress(InvalidInput):
        assert isinstance(decode_text(data, named).text, str)
