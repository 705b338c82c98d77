"""What a brief says by itself: hardly ever that it asks for a fact."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.contract import Contract
from autoreason.studies.advise.rules import asks_for_fact, describe_drift, describe_question
from autoreason.task import Task


@pytest.mark.parametrize(
    "brief",
    [
        "In which year was the telescope invented?",
        "How many moons has Mars?",
        "What is the capital of Mongolia?",
        "Who was the first woman on a board of this bank?",
        "what is the boiling point of ethanol?",
    ],
)
def test_a_short_question_with_one_right_answer_asks_for_a_fact(brief: str) -> None:
    assert asks_for_fact(Task(brief=brief))


@pytest.mark.parametrize(
    "brief",
    [
        "Write a note about the new coffee machine.",
        "How should we price the product?",
        "What is the best way to tell a team that its project ends?",
        "Why did the launch fail?",
        "How many words make a good title? Write ten titles.",
        "When is it right to refactor?\n\nWrite an essay of two pages.",
        "What is the name of the game here, and what would you do about it if you were in my place now?",
        "Which of our plans should we follow?",
        "Where do we go from here: a speech?",
    ],
)
def test_anything_else_does_not(brief: str) -> None:
    assert not asks_for_fact(Task(brief=brief))


@pytest.mark.parametrize(
    "brief",
    [
        "Em que ano foi inventado o telescópio?",
        "¿Cuál es la capital de Mongolia?",
        "Wie viele Monde hat der Mars?",
        "望远镜是哪一年发明的？",  # noqa: RUF001
        "متى اخترع التلسكوب؟",
        "В каком году изобрели телескоп?",  # noqa: RUF001
        "How should we price the product?",
    ],
)
def test_a_short_question_in_any_language_is_measured_and_gets_a_note(brief: str) -> None:
    assert not asks_for_fact(Task(brief=brief))
    assert "`--strategy single`" in describe_question(Task(brief=brief))


@pytest.mark.parametrize(
    "brief",
    [
        "Escreva uma carta de boas-vindas.",
        "写一封欢迎信。要写多长？",  # noqa: RUF001
        "اكتب رسالة ترحيب",
        "Explain tides.",
        "Why do tides come twice a day, and what would you tell a child of eight who asks you why?",
    ],
)
def test_a_brief_that_asks_for_a_text_gets_no_such_note(brief: str) -> None:
    assert describe_question(Task(brief=brief)) == ""


def test_a_brief_with_limits_or_a_draft_wants_a_text() -> None:
    question = "How many moons has Mars?"
    assert not asks_for_fact(Task(brief=question, contract=Contract(max_words=80)))
    assert not asks_for_fact(Task(brief=question, draft="Two."))


@given(st.text(min_size=1, max_size=200))
def test_no_brief_that_asks_for_writing_is_a_fact(rest: str) -> None:
    assert not asks_for_fact(Task(brief=f"Write about this: {rest}"))


def test_a_brief_without_limits_is_warned_of_drift() -> None:
    assert "max_words" in describe_drift(Task(brief="Write."))
    assert describe_drift(Task(brief="Write.", contract=Contract(max_words=80))) == ""
