"""Whether records show which of two texts does better: one group left out, earlier records only; and earlier tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from math import log, log2, sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist, fmean
from typing import ClassVar, Literal, NamedTuple, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autoreason.fields import check_call
from autoreason.knowledge.folder import read_folder
from autoreason.knowledge.index import Index, SearchQuery, find_neighbours
from autoreason.knowledge.predictor import (
    FittedPredictor,
    Predictor,
    TextScores,
    comparable_rows,
    find_testable,
)
from autoreason.knowledge.standing import MIN_GROUPS, MIN_KNOWN, FoundPairs, Pair, find_pairs
from autoreason.knowledge_records import FITTED, Record, WhenTested
from autoreason.report.numbers import UNKNOWN, count, p_statement, percent_interval, points
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, Tone, figures, words
from autoreason.stats import BEYOND_CHANCE, Estimate
from autoreason.stats.shares import clustered_share, group_values, student_t
from autoreason.stats.sums import flips, resampled_mean, unlike_chance

_FILE = ".tests.jsonl"
KnowledgeVerdict = Literal["helps", "harms", "worse", "not shown", "too few"]
"""Of judges and predictors; *worse* is a predictor that knows less than length does."""
_USUAL, _STRENGTH = 0.6, 50
"""What judges are taken for before they are tested: right so often, as if on so many groups."""
_LEAST, _MOST = 0.25, 3.0


class TestResult(Struct, frozen=True, kw_only=True):
    """One test of a folder with one judge, or of a predictor."""

    __test__ = False
    """Pytest must not collect it."""

    judge: str
    """Its address; or the name of a predictor."""
    verdict: KnowledgeVerdict
    pairs: int
    when: str
    run: str = ""
    right: Estimate | None = None
    """Of a predictor: the share of pairs it was right about."""
    weight: float | None = None
    """How much its ballot counts in a review if it is shown outcomes; None where the pairs were too few."""
    weight_without: float | None = None
    """The same if it is shown none."""


def _results_file(folder: str | Path) -> Path:
    """Where the results of a folder are; those of a single table are beside it."""
    path = Path(folder)
    return path.with_name(f".{path.name}{_FILE}") if path.is_file() else path / _FILE


def record_test(folder: str | Path, result: TestResult) -> None:
    with _results_file(folder).open("ab") as file:
        file.write(msgspec.json.encode(result) + b"\n")


def read_tests(folder: str | Path) -> list[TestResult]:
    """Every result, the oldest first; a line that cannot be read says nothing."""
    try:
        lines = _results_file(folder).read_bytes().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=TestResult))
        except msgspec.MsgspecError:
            continue
    return found


def weigh(right: float, groups: int) -> float:
    """How much the ballot of a judge counts that is right so often: 1 where nothing is known, in quarters.

    The log-odds of its share, shrunken towards 60 % as if by 50 more groups, over those of 60 %. A judge that tosses
    coins ends at the least weight, and so does one that is mostly wrong: no vote is turned round.
    """
    share = (right * groups + _USUAL * _STRENGTH) / (groups + _STRENGTH)
    odds = log(share / (1 - share)) / log(_USUAL / (1 - _USUAL))
    return min(_MOST, max(_LEAST, round(4 * odds) / 4))


def judge_weights(
    folder: str | Path, judges: Collection[str], *, with_records: bool
) -> dict[str, float]:
    """The weights of several judges by their last tests; none unless each has one."""
    last = {each.judge: each for each in read_tests(folder)}
    tests = [last[judge] for judge in judges if judge in last]
    weights = {each.judge: each.weight if with_records else each.weight_without for each in tests}
    known = {judge: weight for judge, weight in weights.items() if weight is not None}
    return known if len(known) > 1 and known.keys() == {*judges} else {}


def helps_judge(folder: str | Path, judge: str) -> bool:
    """Whether the last test of a judge says that outcomes help it."""
    verdicts = [each.verdict for each in read_tests(folder) if each.judge == judge]
    return verdicts[-1:] == ["helps"]


def choose_fitted(folder: str | Path, when: WhenTested) -> TestResult | None:
    """The last test of the predictor that deserves a seat: of those that help, or of all, the one most often right."""
    last = {each.judge: each for each in read_tests(folder) if each.judge in FITTED}
    helping = [each for each in last.values() if each.verdict == "helps"]
    found = helping or (list(last.values()) if when == "yes" else [])
    return max(found, key=lambda each: (each.right and each.right.value) or 0.0, default=None)


PredictorName = Literal["retrieval", "words", "embeddings", "length"]
PREDICTORS: tuple[PredictorName, ...] = get_args(PredictorName)
MIN_PAIRS = 60
"""Pairs below which nothing is concluded."""
_MIN_GROUPS = 20
"""Groups in each part of the time over which accuracy is compared."""
_NORMAL = NormalDist()
SHOWN = _NORMAL.inv_cdf(1 - BEYOND_CHANCE / 2) + _NORMAL.inv_cdf(0.8)
"""Standard errors of a difference that is shown four times out of five."""
TONES: dict[str, Tone] = {"helps": "good", "harms": "bad", "worse": "bad", "too few": "warning"}
_DRAWS: dict[PredictorName, int] = {"retrieval": 20, "words": 2, "embeddings": 2}
"""How often all answers are repeated with shuffled outcomes; regressions, which take seconds, have a shuffle each."""
UNTESTED = f"to test a pair takes more than {MIN_KNOWN} earlier records, none of them with nearly the same text"
FLIPPED = "by flipping the signs of whole groups"
NEIGHBOURS = 20
_MAX_POSTINGS = 20_000
"""Common words say something, too, and a test has time."""
_TOO_GOOD = 0.52
"""What shuffled outcomes should not reach."""


class PairAnswer(NamedTuple):
    """How one pair was answered: 1 right, 0 wrong, 0.5 where both texts are the same to a predictor."""

    pair: Pair
    right: float
    placebo: Mapping[tuple[int, int], float]
    """With outcomes shuffled, by the draw and the regression that was fitted to it."""
    length: float


@dataclass(frozen=True, repr=False)
class PredictorTest(Report):
    """How often a predictor is right about recorded pairs, beside what needs no knowledge."""

    heading: ClassVar[str] = "Does this knowledge help?"
    predictor: PredictorName
    verdict: KnowledgeVerdict
    pairs: int
    groups: int
    right: Estimate
    placebo: Estimate
    """The same with outcomes shuffled within their groups, several times: what no knowledge gives."""
    length: Estimate
    against_length: Estimate
    p_value: float | None
    could_show: float | None
    """The smallest share right that so many groups show to help four times out of five; None where they show none."""
    undated: int
    """Pairs whose group has no date, for which all other groups are known."""
    unanswered: int
    """Pairs left out because too little was known before them, or a copy of one of their texts was."""
    picked: int
    no_error: int
    by_time: tuple[Estimate, Estimate] | None
    """The first two thirds of the pairs by date, and the last."""
    declines: bool

    @property
    def conclusion(self) -> str:
        seen = f"right on {percent_interval(self.right)} of {count(self.pairs, 'pair')}"
        rival = f"counting characters on {percent_interval(self.length)}"
        if self.pairs < MIN_PAIRS:
            left = f"; {self.unanswered:,} cannot be tested: {UNTESTED}" if self.unanswered else ""
            return f"too few: {count(self.pairs, 'pair')}; a test needs {MIN_PAIRS} or more{left}"
        if self.verdict == "too few":
            return few_groups(self.groups)
        if self.verdict == "worse":
            return f"{self.predictor} is worse than counting characters: {seen}, {rival}"
        if self.verdict == "not shown":
            least = likely_to_show(self.could_show, "{:.0f} %")
            return f"not shown to help: {self.predictor} is {seen}, {rival}; {least}"
        return f"{self.predictor} {self.verdict}: {seen}, {rival}"

    is_summarized: ClassVar[bool] = True

    def summary(self, took: str = "") -> list[str]:
        basis = f"{count(self.pairs, 'pair')} of {count(self.groups, 'group')}"
        return [self.sentence, " · ".join(filter(None, [basis, took]))]

    def names(self) -> Sequence[str]:
        return PREDICTORS

    def sections(self) -> list[Section]:
        placebo, length = map(percent_interval, (self.placebo, self.length))
        right, gain = percent_interval(self.right), points(self.against_length)
        rows = [
            (self.predictor, right, gain, self.verdict),
            ("placebo: outcomes shuffled within groups", placebo, UNKNOWN, ""),
            ("length: the longer one", length, UNKNOWN, ""),
            ("a coin", "50 %", UNKNOWN, ""),
        ]
        shown = figures("right (95 %)", "points over length")
        columns = [*words("predictor"), *shown, *words("verdict")]
        if self.predictor == "length":
            del rows[1:3]
        about = Section(sentences=[(label, text) for label, text in self._sentences() if text])
        table = Section(tables=[Table(columns, rows, tones=TONES)])
        return [about] if self.verdict == "too few" else [table, about]

    def _sentences(self) -> list[tuple[str, str]]:
        basis = f"{count(self.pairs, 'pair')} of {count(self.groups, 'group')}"
        test = f"{p_statement(self.p_value)} for the difference from length, {FLIPPED}; "
        test += "to help, it must beat length and a coin"
        too_good = "shuffled outcomes do better than a coin: something else is measured"
        left_out = (
            (self.unanswered, "pair", f"({UNTESTED})"),
            (self.picked, "record", "whose text was picked"),
            (self.no_error, "result", "whose error is unknown"),
        )
        return [
            ("Pairs", f"{basis}; intervals rest on groups, one of which is left out at a time"),
            ("Known", self._known()),
            ("Test", "" if self.p_value is None or self.verdict == "too few" else test),
            ("Placebo", too_good if (self.placebo.low or 0) > _TOO_GOOD else ""),
            ("Left out", "; ".join(f"{count(n, noun)} {why}" for n, noun, why in left_out if n)),
            ("Over time", over_time(self.by_time, declines=self.declines)),
        ]

    def _known(self) -> str:
        earlier, others = "earlier groups alone", "all other groups, earlier or later"
        if not self.undated:
            return f"for every pair, records of {earlier}"
        if self.undated == self.pairs:
            return f"groups have no dates: for every pair, records of {others}"
        undated = f"for {count(self.undated, 'pair')} without a date"
        return f"records of {earlier}; {undated}, of {others}"


def evaluate_predictor(
    folder: str | Path,
    predictor: PredictorName = "retrieval",
    *,
    on_progress: Callable[[int, int], None] | None = None,
) -> PredictorTest:
    """Ask a predictor which of two texts does better, for every recorded pair of a folder, its group left out.

    Args:
        folder: The folder, or a single CSV or JSONL file.
        predictor: `retrieval`, `words`, `embeddings` (and words), or `length`; none of them asks
            a model. Embeddings need `pip install '.[embeddings]'`.
        on_progress: Called with the number of pairs that are decided, and of all.

    Returns:
        The report, with its `verdict`. That on a regression (`words`, `embeddings`) is kept
        in the folder, or beside the file; only where it is `helps` does the predictor get a seat in later runs.

    Raises:
        InvalidInput: There is no such folder, its `kb.toml` cannot be used, or a package is missing.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import evaluate_predictor
        >>> _ = Path("mails.csv").write_text("subject,opens,sent,list\\nA,9,90,x\\nB,1,90,x\\n")
        >>> evaluate_predictor("mails.csv").verdict
        'too few'
    """
    check_call(evaluate_predictor, folder=folder, predictor=predictor, on_progress=on_progress)
    found = measure_predictor(read_folder(folder).records, predictor, on_progress)
    if predictor in FITTED:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        result = TestResult(judge=predictor, verdict=found.verdict, pairs=found.pairs, when=now)
        result = replace(result, right=found.right)
        try:
            record_test(folder, result)
        except OSError as error:
            unkept = f"the verdict cannot be kept in {folder} ({error.strerror})"
            warnings.warn(unkept, stacklevel=2)
    return found


def retrieval_answers(records: Sequence[Record], pairs: Sequence[Pair]) -> list[float]:
    """Whether retrieval alone is right about each pair: 1, 0, or 0.5 where it cannot tell."""
    predictor = _Past(records).predictor("retrieval")
    return [_answer(predictor, pair) for pair in pairs]


def measure_predictor(
    records: Sequence[Record],
    predictor: PredictorName,
    on_progress: Callable[[int, int], None] | None = None,
) -> PredictorTest:
    # Length knows nothing of other texts.
    found = (find_pairs if predictor == "length" else find_testable)(records)
    pairs = sorted(found.pairs, key=lambda pair: (pair.when, pair.group))
    past = _Past(records)
    own = past.predictor(predictor)
    shuffled = [past.predictor(predictor, draw) for draw in range(_DRAWS.get(predictor, 0))]
    answers: list[PairAnswer] = []
    for done, pair in enumerate(pairs):
        if on_progress:
            on_progress(done, len(pairs))
        placebo = {}
        for draw, each in enumerate(shuffled):
            right = _answer(each, pair)
            placebo[draw, each.fit if isinstance(each, FittedPredictor) else 0] = right
        answers.append(PairAnswer(pair, _answer(own, pair), placebo, _answer(_length, pair)))
    return summarize(predictor, answers, found)


def summarize(
    predictor: PredictorName, answers: Sequence[PairAnswer], found: FoundPairs
) -> PredictorTest:
    """What answers come to; those of one group hang together."""
    alone = predictor == "length"
    right = clustered_share(group_values((each.pair.group, each.right) for each in answers))
    length = clustered_share(group_values((each.pair.group, each.length) for each in answers))
    against = group_values((e.pair.group, e.right - (0.5 if alone else e.length)) for e in answers)
    over_coin = could_show(group_values((each.pair.group, each.right) for each in answers))
    over_length, most = could_show(against), (0.5 if alone else length.value) or 0.0
    enough = max(0.5 + (over_coin or 0.0), most + (over_length or 0.0))
    is_possible = None not in (over_coin, over_length) and enough <= 1
    shuffles = group_values(item for each in answers for item in each.placebo.items())
    gain = sum(map(sum, against))
    p_value = unlike_chance(flips(map(sum, against)), gain) if against else 1.0
    verdict: KnowledgeVerdict = "not shown"
    if len(answers) < MIN_PAIRS or len(against) < MIN_GROUPS:
        verdict = "too few"
    elif right.high is not None and right.high < 0.5:
        verdict = "harms"
    elif p_value < BEYOND_CHANCE and gain < 0 and not alone:
        verdict = "worse"
    elif p_value < BEYOND_CHANCE and right.low is not None and right.low > 0.5:
        verdict = "helps"
    by_time, declines = compare_times((e.pair.when, e.pair.group, e.right) for e in answers)
    return PredictorTest(
        predictor=predictor,
        verdict=verdict,
        pairs=len(answers),
        groups=len(against),
        right=right,
        # It rests on shuffles, not on groups: what one makes of words by chance, it makes of them in all groups.
        placebo=clustered_share(shuffles) if shuffles else Estimate(None, reason="none shuffled"),
        length=length,
        against_length=Estimate(None, reason="it is length") if alone else resampled_mean(against),
        p_value=None if alone or not against else p_value,
        could_show=enough if is_possible else None,
        undated=sum(not each.pair.when for each in answers),
        unanswered=found.untested,
        picked=found.picked,
        no_error=found.no_error,
        by_time=by_time,
        declines=declines,
    )


class _Past:
    def __init__(self, records: Sequence[Record]) -> None:
        self._rows = comparable_rows(records)
        self.scores = {record.id: standing.score for record, standing in self._rows if standing}
        index = Index.of_rows(self._rows)

        @cache
        def find_nearest(query: SearchQuery) -> list[str]:
            found = find_neighbours(index, query, max_postings=_MAX_POSTINGS)
            return [each.record.id for each in islice(found, NEIGHBOURS)]

        self._find_nearest = find_nearest

    def predictor(self, name: PredictorName, draw: int | None = None) -> Predictor:
        """The predictor of that name; with a draw, of shuffled outcomes, and other ones in every regression."""

        def scores_of(fit: int) -> TextScores:
            return self.scores if draw is None else self._shuffle(f"{draw} {fit}")

        if name == "length":
            return _length
        if name != "retrieval":
            return FittedPredictor(name, self._rows, scores_of)
        scores = scores_of(0)

        def mean_of_nearest(query: SearchQuery) -> float:
            """The mean of the nearest; where none is near, that of all texts."""
            found = [scores[each] for each in self._find_nearest(query)]
            return fmean(found) if found else 0.0

        return mean_of_nearest

    def _shuffle(self, seed: str) -> dict[str, float]:
        """Every outcome with another text of its group: groups stay as they are, what texts say of them goes."""
        groups: dict[str, list[str]] = {}
        for record, _ in self._rows:
            groups.setdefault(record.group, []).append(record.id)
        rng = Random(seed)
        scores: dict[str, float] = {}
        for ids in groups.values():
            others = rng.sample(ids, len(ids))
            scores |= {one: self.scores[other] for one, other in zip(ids, others, strict=True)}
        return scores


def _length(query: SearchQuery) -> float:
    """The longer text does better."""
    return float(len(query.text))


def _answer(predictor: Predictor, pair: Pair) -> float:
    about = SearchQuery("", pair.group, pair.when, private=True, to_models=True)
    texts = (pair.better.text, pair.worse.text)
    better, worse = (predictor(about._replace(text=text)) for text in texts)
    return 0.5 if better == worse else float(better > worse)


def few_groups(number: int) -> str:
    """Why nothing is concluded from many pairs of a few groups."""
    return f"{count(number, 'group')} {'is' if number == 1 else 'are'} too few, {MIN_GROUPS} are needed"


def could_show(differences: Sequence[Sequence[float]]) -> float | None:
    """The smallest mean difference that so many groups show four times out of five; None where they show none.

    Groups of different size are worth fewer, and of few nobody knows well how far they differ, as in `clustered_share`.
    """
    sizes = [len(group) ** 2 for group in differences]
    squares = sum(sizes)
    if not squares or sum(map(len, differences)) ** 2 / squares < log2(2 / BEYOND_CHANCE):
        return None
    freedom = squares**2 / sum(size**2 for size in sizes) - 1
    shown = student_t(freedom, BEYOND_CHANCE / 2) + student_t(freedom, 0.2)
    return shown * _mean_and_error(differences)[1]


def compare_times(
    answers: Iterable[tuple[str, str, float]],
) -> tuple[tuple[Estimate, Estimate] | None, bool]:
    """Accuracy before and in the last third by date, and whether the last is worse beyond its error.

    Answers are date, group, and how far they are right.
    """
    dated = sorted(each for each in answers if each[0])
    if not dated:
        return None, False
    turn = dated[len(dated) * 2 // 3][0]
    parts = ([e for e in dated if e[0] < turn], [e for e in dated if e[0] >= turn])
    groups = [group_values((group, right) for _, group, right in part) for part in parts]
    if min(map(len, groups)) < _MIN_GROUPS:
        return None, False
    (first, first_error), (last, last_error) = map(_mean_and_error, groups)
    declines = first - last > _NORMAL.inv_cdf(0.975) * sqrt(first_error**2 + last_error**2)
    return (clustered_share(groups[0]), clustered_share(groups[1])), declines


def over_time(by_time: tuple[Estimate, Estimate] | None, *, declines: bool) -> str:
    if by_time is None:
        return ""
    first, last = map(percent_interval, by_time)
    warning = "; it declines: newer texts differ, or readers do"
    return f"{first} in the first two thirds, {last} in the last{warning if declines else ''}"


def likely_to_show(least: float | None, what: str = "a gain of {:.0f} points") -> str:
    """What would have been shown four times out of five, where nothing was."""
    if least is None:
        return "groups so few or so uneven were not likely to show anything"
    return f"only {what.format(least * 100)} or more was likely to show"


def _mean_and_error(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The mean over all, and its standard error from the differences between groups."""
    size = sum(map(len, groups))
    if len(groups) < 2:
        return 0.0, 0.0
    mean = sum(map(sum, groups)) / size
    squares = sum((sum(group) - len(group) * mean) ** 2 for group in groups)
    return mean, sqrt(squares * len(groups) / (len(groups) - 1)) / size
