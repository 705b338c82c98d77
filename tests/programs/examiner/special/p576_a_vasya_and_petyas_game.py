"""Right are any fewest questions to which no two numbers have the same answers."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    largest = int(input)
    count, *questions = map(int, output.split())
    if count != int(expected.split()[0]):
        return f"the fewest questions are not {count}"
    if len(questions) != count or any(not 1 <= divisor <= largest for divisor in questions):
        return f"not {count} questions about numbers of the game"
    answers = [0] * (largest + 1)
    for at, divisor in enumerate(questions):
        for number in range(divisor, largest + 1, divisor):
            answers[number] |= 1 << at
    return len(set(answers[1:])) == largest or "two numbers have the same answers"
