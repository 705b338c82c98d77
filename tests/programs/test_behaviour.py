"""What most attempts agree with is chosen, and failures agree with nothing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.programs.assignment import Observation, Observed
from autoreason.programs.search import LEAD, choose, group

steady = settings(derandomize=True)


def observed(answers: str) -> Observed:
    """What a program did, a letter for each input; `!` is a failure."""
    return Observed(
        observations=tuple(
            Observation(failure="ValueError") if each == "!" else Observation(value=each)
            for each in answers
        )
    )


def chosen(*answers: str, others: tuple[str, ...] = (), left: int = 0) -> int:
    """Which of programs that did this is chosen."""
    programs = [f"program {number}" for number in range(len(answers))]
    seen = [observed(each) for each in answers]
    return choose(programs, seen, [observed(each) for each in others], left=left).index


some_answers = st.integers(1, 4).flatmap(
    lambda inputs: st.lists(
        st.text("ab!", min_size=inputs, max_size=inputs), min_size=1, max_size=7
    )
)


@steady
@given(some_answers, st.integers(0, 12))
def test_every_program_is_in_one_group_and_the_chosen_one_in_the_first(
    answers: list[str], left: int
) -> None:
    programs = [f"program {number}" for number in range(len(answers))]
    seen = [observed(each) for each in answers]
    choice = choose(programs, seen, left=left)
    members = sorted(member for each in choice.groups for member in each.members)
    assert members == list(range(len(answers)))
    assert choice.index in choice.groups[0].members
    assert set(choice.groups) == set(group(programs, seen))


@steady
@given(some_answers)
def test_what_more_than_half_do_is_chosen_where_they_do_not_fail(answers: list[str]) -> None:
    answers = [each.replace("!", "c") for each in answers]
    most = max(answers, key=answers.count)
    if 2 * answers.count(most) > len(answers):
        assert answers[chosen(*answers)] == most


def test_the_largest_group_wins_and_the_earliest_where_none_is() -> None:
    assert chosen("ab", "cd", "ef", "cd") == 1
    assert chosen("ab", "cd") == 0


def test_near_misses_speak_for_what_they_nearly_are() -> None:
    assert chosen("zzzz", "aaab", "aaac", "caaa") == 1


def test_a_program_that_fails_where_others_answer_counts_less() -> None:
    assert chosen("ab!!", "abcd") == 1


def test_failing_alike_is_no_agreement() -> None:
    assert chosen("ab!", "ab!", "cde", "cde", "xyz") == 2


def test_inputs_on_which_most_fail_are_left_out() -> None:
    assert chosen("xa", "!b", "!b", "!c") == 1


def test_a_program_that_always_fails_agrees_with_none_and_says_nothing_of_the_inputs() -> None:
    assert chosen("!!", "a!", "!!") == 1
    assert chosen("!!", "!!", "ab") == 2
    assert chosen("!!", "!!", "!!") == 0
    apart = group(["one", "two", "two"], [observed("!!")] * 3)
    assert [each.members for each in apart] == [(1, 2), (0,)]


def test_programs_that_fail_public_tests_speak_for_others_and_are_not_chosen() -> None:
    assert chosen("aa", "bb", others=("bc", "cb", "cc")) == 1


def test_without_inputs_the_first_is_chosen() -> None:
    assert chosen("", "") == 0


def test_the_same_program_is_in_one_group_although_it_was_slow_once() -> None:
    programs = ["same", "same", "other"]
    seen = [observed("ab"), observed("a!"), observed("ac")]
    assert [each.members for each in group(programs, seen)] == [(0, 1), (2,)]


def test_the_choice_is_clear_with_enough_of_a_lead_or_where_too_few_attempts_are_left() -> None:
    def clear(*answers: str, left: int) -> bool:
        return choose(
            [f"program {number}" for number in range(len(answers))],
            [observed(each) for each in answers],
            left=left,
        ).clear

    assert LEAD == 3
    assert clear("a", "a", "a", left=9)
    assert not clear("a", "a", left=9)
    assert clear("a", "a", left=1)
    assert not clear("a", "b", "a", "a", left=9)
    assert clear("a", "b", "a", left=0)
    assert not clear("a", "b", left=0)
