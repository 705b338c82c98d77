"""Accuracy of a pipeline on rows of scikit-learn's digits that it was not trained on."""

import json
import os
import tomllib
import warnings
from functools import cache
from hashlib import sha256
from pathlib import Path

try:
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
except ModuleNotFoundError as missing:
    raise SystemExit(f"{missing}; it takes: pip install scikit-learn") from None

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
    if unknown := config.keys() - KINDS.keys():
        raise ValueError(f"there are no tables {unknown}")
    steps = []
    for table, kinds in KINDS.items():
        given = dict(config.get(table, {"kind": "none"}))
        estimator, names = kinds[given.pop("kind")]
        if estimator is None:
            continue
        step = estimator(**{names[name]: value for name, value in given.items()})
        steps.append(step)
        if "random_state" in step.get_params():
            step.set_params(random_state=seed)
    return make_pipeline(*steps)


NOTHING = (None, {})
KINDS = {
    "scaler": {"none": NOTHING, "standard": (StandardScaler, {}), "minmax": (MinMaxScaler, {})},
    "reduction": {"none": NOTHING, "pca": (PCA, {"components": "n_components"})},
    "model": {
        "logistic": (LogisticRegression, {"C": "C"}),
        "svc": (SVC, {"C": "C", "gamma": "gamma"}),
        "neighbors": (KNeighborsClassifier, {"k": "n_neighbors"}),
        "forest": (RandomForestClassifier, {"trees": "n_estimators"}),
    },
}
"""What a configuration may name, and what scikit-learn calls its parameters."""


if __name__ == "__main__":
    lines = Path(os.environ["AUTOREASON_ITEMS"]).read_text().splitlines()
    seed = int(os.environ["AUTOREASON_SEED"])
    result = score(os.environ["AUTOREASON_ARTIFACT"], seed, [json.loads(line) for line in lines])
    with os.fdopen(int(os.environ["AUTOREASON_RESULT"]), "w") as channel:
        json.dump(result, channel)
