import sys


def main() -> None:
    heights = list(map(int, sys.stdin.read().split()))[1:]
    marks: list[int] = []
    highest = None
    for day, height in enumerate(heights, start=1):
        if highest is None or height > highest:
            highest = height
            marks.append(day)
    print(len(marks))
    print(*marks)


main()
