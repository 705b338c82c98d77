"""Accuracy of a pipeline on rows of scikit-learn's digits that it was not trained on."""

import json
import os
import sys
import tomllib
import warnings
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

PARTS, OPEN = 100, 70
"""Rows are dealt to parts by their digest; from part 70 on they are sealed, and never trained on."""


def score(folder, seed, items):
    """Train on the open rows that are not in the given parts, and test on those that are."""
    data, target, part = digits()
    test = np.isin(part, [item["part"] for item in items])
    train = (part < OPEN) & ~test
    model = build(tomllib.loads((Path(folder) / "pipeline.toml").read_text()), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data[train], target[train])
    return {"accuracy": float(model.score(data[test], target[test]))}


@cache
def digits():
    """Rows, what they show, and the part of each."""
    data, target = load_digits(return_X_y=True)
    part = [int(sha256(row.tobytes()).hexdigest(), 16) % PARTS for row in data.astype("uint8")]
    return data, target, np.array(part)


def build(config, seed):
    """The pipeline of a configuration; what it names and is not known here is an error."""
    steps = []
    for table, kinds in KINDS.items():
        given = dict(config.pop(table, {}))
        kind = given.pop("kind", "none")
        if kind not in kinds:
            raise SystemExit(f"[{table}] has no kind {kind!r}; there are {', '.join(kinds)}")
        if kinds[kind]:
            steps.append(kinds[kind](seed, **given))
    if config:
        raise SystemExit(f"there are no tables {', '.join(config)}")
    return make_pipeline(*steps)


KINDS = {
    "scaler": {
        "none": None,
        "standard": lambda seed: StandardScaler(),
        "minmax": lambda seed: MinMaxScaler(),
    },
    "reduction": {
        "none": None,
        "pca": lambda seed, components: PCA(int(components), random_state=seed),
    },
    "model": {
        "logistic": lambda seed, C=1.0: LogisticRegression(C=float(C), max_iter=200),
        "svc": lambda seed, C=1.0, gamma="scale": SVC(C=float(C), gamma=gamma),
        "neighbors": lambda seed, k=5: KNeighborsClassifier(int(k)),
        "forest": lambda seed, trees=100: RandomForestClassifier(int(trees), random_state=seed),
    },
}


if __name__ == "__main__":
    given = Path(os.environ["AUTOREASON_ITEMS"]).read_text().splitlines()
    result = score(
        os.environ["AUTOREASON_ARTIFACT"],
        int(os.environ["AUTOREASON_SEED"]),
        [json.loads(line) for line in given],
    )
    with open(int(os.environ["AUTOREASON_RESULT"]), "w") as channel:
        json.dump(result, channel)
    sys.exit(0)
