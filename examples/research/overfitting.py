"""Two ways to fool oneself, as they happen to greedy and to the default: the figures of docs/overfitting.md.

    python examples/research/overfitting.py noise --runs 10        (needs scikit-learn)
    python examples/research/overfitting.py lengths --runs 5

Evaluators are called in this process, without a jail: what they run is in this folder.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from random import Random
from statistics import fmean
from types import SimpleNamespace

from autoreason import research
from autoreason.testing import ScriptedModel

HERE = Path(__file__).parent
TUNED = '[model]\nkind = "svc"\nC = 10.0\ngamma = 0.001\n'
"""From here no value nearby is better by more than one row in five hundred."""


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
    sys.path.insert(0, str(HERE / "digits"))
    from evaluate import score

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
    """Proposes other values of C and gamma, near those of the start."""

    def __init__(self, seed):
        super().__init__(self._answer)
        self._seed = seed

    def _answer(self, request):
        draw = Random(f"{self._seed}/{request.key.split('/')[1]}")
        c, gamma = 10 * 2 ** draw.uniform(-1, 1), 0.001 * 1.3 ** draw.uniform(-1, 1)
        text = TUNED.replace("10.0", f"{c:.3f}").replace("0.001", f"{gamma:.6f}")
        return f"HYPOTHESIS: C = {c:.3f} suits better\nEXPECTED: +0.002\n\npipeline.toml\n```\n{text}```\n"


def compare_on_lengths(runs, evaluations):
    """Bins: rules that were chosen on 5000 items, tested on 500; and chosen on several lengths."""
    for task, rule in (("task.md", "greedy"), ("task.md", "race"), ("lengths.md", "race")):
        yield (
            f"{rule}, {task}",
            [
                run(HERE / "bins" / task, Proposals(), score_bins, rule, seed, evaluations or 60)
                for seed in range(1, runs + 1)
            ],
        )


class Proposals(ScriptedModel):
    """The scripted proposer of the bins."""

    def __init__(self):
        sys.path.insert(0, str(HERE))
        from scripted import Proposer

        super().__init__(Proposer("bins")._answer)


def score_bins(folder, seed, items):
    """The evaluator of the bins, with the artifact in this process."""
    sys.path.insert(0, str(HERE / "bins"))
    from evaluate import score

    artifact = {}
    exec((folder / "pack.py").read_text(), artifact)
    return score(SimpleNamespace(**artifact), seed, items)


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
