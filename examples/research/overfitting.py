"""Two ways to fool oneself, as they happen to greedy and to the default: the figures of docs/overfitting.md.

    python examples/research/overfitting.py noise --runs 10        (needs scikit-learn)
    python examples/research/overfitting.py lengths --runs 5

Evaluators are called in this process, without a jail: what they run is in this folder.
"""

import argparse
import tempfile
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from statistics import fmean
from types import SimpleNamespace

from autoreason import research
from autoreason.testing import ScriptedModel

HERE = Path(__file__).parent
TUNED = """[reduction]
kind = "pca"
components = 40

[model]
kind = "svc"
C = 10.0
gamma = 0.001
"""
"""From here hardly anything nearby is better, and nothing by much."""


def main(arguments=None):
    """Run what is asked for and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["noise", "lengths"])
    parser.add_argument("--runs", type=int, default=5, help="runs of each kind, with seeds 1, 2, …")
    parser.add_argument("--evaluations", type=int, help="of each run [default: 100, lengths: 60]")
    given = parser.parse_args(arguments)
    experiment = {"noise": compare_on_noise, "lengths": compare_on_lengths}[given.what]
    print(f"{'':26}loop saw   end test   claims a gain   claims a loss")
    for name, results in experiment(given.runs, given.evaluations):
        print(f"{name:26}{describe(results)}", flush=True)


def describe(results):
    """What loops saw and end tests showed, on average, and in how many runs the end test shows something."""
    seen = fmean(each.report.loop_gain or 0.0 for each in results)
    gains = [each.gain for each in results]
    shown = fmean(gain.gain if gain else 0.0 for gain in gains)
    up = sum(bool(gain and gain.low > 0) for gain in gains)
    down = sum(bool(gain and gain.high < 0) for gain in gains)
    of = f"of {len(results)}"
    return f"{seen:+8.4f}   {shown:+8.4f}   {f'{up} {of}':>13}   {f'{down} {of}':>13}"


def compare_on_noise(runs, evaluations):
    """Digits, from a configuration that is as good as any near it: whatever is gained is noise."""
    score = load("digits/evaluate.py").score
    with tempfile.TemporaryDirectory() as folder:
        for path in (HERE / "digits").iterdir():
            if path.is_file():
                (Path(folder) / path.name).write_bytes(path.read_bytes())
        (Path(folder) / "pipeline.toml").write_text(TUNED)
        for rule in ("greedy", "race"):
            yield (
                rule,
                [
                    run(
                        Path(folder) / "task.md",
                        Tweaker(seed),
                        score,
                        rule,
                        seed,
                        evaluations or 100,
                    )
                    for seed in range(1, runs + 1)
                ],
            )


class Tweaker(ScriptedModel):
    """Proposes other values for the three numbers of the start, near them."""

    def __init__(self, seed):
        super().__init__(self._answer)
        self._seed = seed

    def _answer(self, request):
        draw = Random(f"{self._seed}/{request.key.split('/')[1]}")
        components = draw.randint(20, 60)
        c, gamma = 10 * 2 ** draw.uniform(-1, 1), 0.001 * 2 ** draw.uniform(-1, 1)
        text = TUNED.replace("40", f"{components}").replace("10.0", f"{c:.3f}")
        text = text.replace("0.001", f"{gamma:.6f}")
        idea = f"{components} components, C = {c:.3f} and gamma = {gamma:.6f} suit better"
        return f"HYPOTHESIS: {idea}\nEXPECTED: +0.002\n\npipeline.toml\n```\n{text}```\n"


def compare_on_lengths(runs, evaluations):
    """Bins: rules that were chosen on 5000 items, tested on 500; and chosen on several lengths."""
    proposer = load("scripted.py").Proposer("scripted/bins")
    for task, rule in (("task.md", "greedy"), ("task.md", "race"), ("lengths.md", "race")):
        yield (
            f"{rule}, {task}",
            [
                run(HERE / "bins" / task, proposer, score_bins, rule, seed, evaluations or 60)
                for seed in range(1, runs + 1)
            ],
        )


def score_bins(folder, seed, items):
    """The evaluator of the bins, with the artifact in this process."""
    artifact = {}
    exec((folder / "pack.py").read_text(), artifact)
    return load("bins/evaluate.py").score(SimpleNamespace(**artifact), seed, items)


@cache
def load(name):
    """A file of this folder as a module."""
    spec = spec_from_file_location(name.replace("/", "_").removesuffix(".py"), HERE / name)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(task, model, evaluate, rule, seed, evaluations):
    """One run, in a journal of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return research(
            task,
            model,
            evaluate=evaluate,
            rule=rule,
            seed=seed,
            evaluations=evaluations,
            patience=evaluations,
            journal=Path(folder) / "journal.db",
        )


if __name__ == "__main__":
    main()
