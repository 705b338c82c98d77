"""Three ways to fool oneself, as they happen to greedy and to the default: the figures of docs/research.md.

    python examples/research/overfitting.py noise --runs 10        (needs scikit-learn)
    python examples/research/overfitting.py instances --runs 10
    python examples/research/overfitting.py lengths --runs 5

Evaluators are called in this process, without a jail: what they run is in this folder.
"""

import argparse
import json
import re
import tempfile
from contextlib import contextmanager
from functools import cache, partial
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from math import sqrt
from pathlib import Path
from random import Random
from shutil import copytree, ignore_patterns
from statistics import fmean, stdev
from types import SimpleNamespace
from typing import NamedTuple

from autoreason import research
from autoreason.testing import ScriptedModel

HERE = Path(__file__).parent
RULES = ("greedy", "race")
FILE = r"## (\S+)\n\n<<<FILE .*?>>>\n(.*?)\n<<<END FILE"
"""A file as the proposer is shown it."""
TUNED = """[reduction]
kind = "pca"
components = 40

[model]
kind = "svc"
C = 10.0
gamma = 0.001
"""
"""From here hardly anything nearby is better, and nothing by much."""
TABLE = '''def choose(size, spaces, capacity):
    """The space of which the best rest is left, if that is worth anything; else a new bin."""
    best = max(spaces, key=lambda space: WORTH[space - size], default=capacity)
    return best if WORTH[best - size] > 0 else capacity


WORTH = {}
"""By the rest that is left."""
'''

BEST_FIT = [101 - rest for rest in range(101)]


class Outcome(NamedTuple):
    """What became of a run."""

    seen: float
    """What its loop saw of the result."""
    gain: float
    """What the result is worth, on evaluations that no run has seen."""
    error: float
    claims: bool
    """Whether its end test shows a gain."""

    @property
    def worse(self):
        """Whether the result is worse than the start, beyond chance."""
        return self.gain < -2 * self.error


def main(arguments=None):
    """Run what is asked for and print a table."""
    experiments = {
        "noise": compare_on_noise,
        "instances": compare_on_instances,
        "lengths": compare_on_lengths,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=experiments)
    parser.add_argument("--runs", type=int, default=5, help="runs of each kind, with seeds 1, 2, …")
    parser.add_argument("--evaluations", type=int, help="of each run [default: 200, lengths: 60]")
    given = parser.parse_args(arguments)
    print(f"{'':26}loop saw   true gain   worse than the start   claims a gain")
    for name, run in experiments[given.what](given.evaluations):
        outcomes = [run(seed) for seed in range(1, given.runs + 1)]
        print(f"{name:26}{describe(outcomes)}", flush=True)


def describe(outcomes):
    """Means over runs, and in how many of them the result is worse, or claimed to be better."""
    seen, gain = fmean(each.seen for each in outcomes), fmean(each.gain for each in outcomes)
    worse = f"{sum(each.worse for each in outcomes)} of {len(outcomes)}"
    claims = f"{sum(each.claims for each in outcomes)} of {len(outcomes)}"
    return f"{seen:+8.4f}   {gain:+9.4f}   {worse:>20}   {claims:>13}"


def compare_on_noise(evaluations):
    """Digits, from a configuration that is as good as any near it: whatever is gained is noise."""
    draw = Random("splits")
    fresh = [[{"part": part} for part in draw.sample(range(70), 20)] for _ in range(40)]
    score = load("digits/evaluate.py").score
    measure = evaluations_of_no_run(score, fresh)
    most = evaluations or 200
    # With fewer than 200 evaluations there is no playoff.
    ways = (("greedy", most), ("race", most - 1), ("race", most))
    with copy_of("digits") as folder:
        (folder / "pipeline.toml").write_text(TUNED)
        task, model = folder / "task.md", partial(Tweaker, change_numbers)
        for rule, number in ways:
            run = partial(run_once, task, score, measure, model, rule, number)
            yield f"{rule}, {number} evaluations", run


def compare_on_instances(evaluations):
    """Bins: a table changed bit by bit, scored on the same five instances, or on five drawn anew."""
    fresh = [[{"length": 500, "seed": seed}] for seed in range(9000, 9300)]
    measure = evaluations_of_no_run(score_bins, fresh)
    for name, items, per_evaluation in (
        ("the same five", 5, ""),
        ("drawn anew", 200, "per_evaluation: 5\n"),
    ):
        with copy_of("bins") as folder:
            task, pack = folder / "task.md", folder / "pack.py"
            task.write_text(task.read_text().replace("per_evaluation: 2\n", per_evaluation))
            pack.write_text(pack.read_text().partition("def choose")[0] + TABLE.format(BEST_FIT))
            for file, seeds in (("items", range(1, items + 1)), ("sealed", range(1000, 1040))):
                lines = (f'{{"length": 500, "seed": {seed}}}\n' for seed in seeds)
                (folder / f"{file}.jsonl").write_text("".join(lines))
            for rule in RULES:
                model = partial(Tweaker, change_table)
                yield (
                    f"{rule}, {name}",
                    partial(run_once, task, score_bins, measure, model, rule, evaluations or 200),
                )


def compare_on_lengths(evaluations):
    """Bins: rules that are chosen on 5000 items, or on several lengths, and meet mostly 500."""
    # As in the sealed set, a quarter of the instances has 5000 items.
    mix = [{"length": 5000 if seed % 4 == 0 else 500, "seed": seed} for seed in range(9000, 9080)]
    fresh = [mix[each : each + 4] for each in range(0, len(mix), 4)]
    measure = evaluations_of_no_run(score_bins, fresh)
    for name, rule in product(("task.md", "lengths.md"), RULES):
        task = HERE / "bins" / name
        yield (
            f"{rule}, {name}",
            partial(run_once, task, score_bins, measure, propose_in_turn, rule, evaluations or 60),
        )


def propose_in_turn(_seed):
    """The proposer of the demonstrations."""
    return load("scripted.py").Proposer("scripted/bins")


class Tweaker(ScriptedModel):
    """Proposes the artifact that it is shown with other numbers, drawn at random."""

    def __init__(self, change, seed):
        super().__init__(self._answer)
        self._seed, self._change = seed, change

    def _answer(self, request):
        draw = Random(f"{self._seed}/{request.key.split('/')[1]}")
        shown = next(each.text for each in request.messages if "<<<FILE" in each.text)
        path, text = re.search(FILE, shown, re.DOTALL).groups()
        return f"HYPOTHESIS: other numbers\n\n{path}\n```\n{self._change(text, draw)}\n```\n"


def change_numbers(text, draw):
    """C, gamma and the components, each by up to a factor of three."""
    for name, places in (("components", 0), ("C", 4), ("gamma", 7)):
        before, number, after = re.split(rf"(?<=^{name} = )(.*)$", text, flags=re.MULTILINE)
        changed = float(number) * 3 ** draw.uniform(-1, 1)
        text = f"{before}{min(changed, 60):.{places}f}{after}"
    return text


def change_table(text, draw):
    """What every rest is worth, by a little."""
    before, numbers, after = re.split(r"(?<=WORTH = )(.*)", text, maxsplit=1)
    worth = [each + round(draw.gauss(0, 5)) for each in json.loads(numbers)]
    return f"{before}{worth}{after}"


def score_bins(folder, seed, items):
    """The evaluator of the bins, with the artifact in this process."""
    artifact = {}
    exec((folder / "pack.py").read_text(), artifact)
    return load("bins/evaluate.py").score(SimpleNamespace(**artifact), seed, items)


@contextmanager
def copy_of(name):
    """A demonstration in a folder where it can be changed."""
    with tempfile.TemporaryDirectory() as folder:
        yield copytree(HERE / name, Path(folder) / name, ignore=ignore_patterns("__pycache__"))


@cache
def load(name):
    """A file of this folder as a module."""
    spec = spec_from_file_location(name.replace("/", "_").removesuffix(".py"), HERE / name)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def evaluations_of_no_run(evaluate, evaluations):
    """A function that evaluates one file on evaluations which no run takes, and each file once."""

    @cache
    def measure(path, text):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / path).write_text(text)
            scores = [evaluate(Path(folder), each, items) for each, items in enumerate(evaluations)]
        return [next(iter(score.values())) for score in scores]

    return measure


def run_once(task, evaluate, measure, model, rule, evaluations, seed):
    """One run, in a journal of its own."""
    with tempfile.TemporaryDirectory() as folder:
        result = research(
            task,
            model(seed),
            evaluate=evaluate,
            rule=rule,
            seed=seed,
            evaluations=evaluations,
            patience=evaluations,
            journal=Path(folder) / "journal.db",
        )
    ((path, text),) = result.files.items()
    sign = 1 if result.report.better == "higher" else -1
    start = measure(path, (task.parent / path).read_text())
    gains = [sign * (new - old) for new, old in zip(measure(path, text), start, strict=True)]
    return Outcome(
        seen=(result.report.loop_gain or 0.0) if result.changes else 0.0,
        gain=fmean(gains),
        error=stdev(gains) / sqrt(len(gains)),
        claims=result.improved,
    )


if __name__ == "__main__":
    main()
