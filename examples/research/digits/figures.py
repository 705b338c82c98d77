"""The figures of the README: accuracy on open rows, drawn a hundred times, its spread, and on all sealed rows."""

import json
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from tempfile import TemporaryDirectory

from evaluate import score

HERE = Path(__file__).parent
CONFIGURATIONS = {
    "start": (HERE / "pipeline.toml").read_text(),
    "SVC as it comes": '[model]\nkind = "svc"\n',
    "SVC, C = 10, gamma = 0.001": '[model]\nkind = "svc"\nC = 10\ngamma = 0.001\n',
}
OPEN, SEALED = (
    [json.loads(line) for line in (HERE / name).read_text().splitlines()]
    for name in ("items.jsonl", "sealed.jsonl")
)

for name, text in CONFIGURATIONS.items():
    draw = Random(1)
    with TemporaryDirectory() as folder:
        Path(folder, "pipeline.toml").write_text(text)
        evaluations = [
            score(folder, seed, draw.sample(OPEN, 20))["accuracy"] for seed in range(100)
        ]
        sealed = score(folder, 0, SEALED)["accuracy"]
    print(f"{name}: {fmean(evaluations):.3f}, spread {stdev(evaluations):.3f}; sealed {sealed:.3f}")
