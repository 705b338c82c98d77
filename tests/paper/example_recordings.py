"""Recordings in the shape of the original experiments, decided by chance, and parts of them."""

from __future__ import annotations

from random import Random

from paper.recording import (
    PROBLEMS,
    SONNET_4,
    SONNET_46,
    TASKS,
    Ballot,
    Judge,
    PanelLine,
    PassLine,
    Recording,
    ResultLine,
    Run,
)

SLOTS = ("A", "B", "AB")
OPEN = [TASKS[f"T{number}"] for number in range(1, 6)]
BRIEFS = {"pitch": TASKS["pitch"], "policy": TASKS["policy"], "gtm": TASKS["GTM"]}
FIVE = ["autoreason", "critique_and_revise", "harsh_critic", "conservative", "improve_this"]
FOUR = ["autoreason", "single_pass", "critique_and_revise", "harsh_critic"]
SIX = [*FOUR, "conservative", "improve_this"]
REMEDIES, PROMPTS = ("margin", "combined", "scope", "plateau"), ("anchored", "subtractive", "both")
LIMITED = [f"task_0{n}_constrained" for n in (2, 3)]
RUNS = [
    *(("v1_comparison", task, task, SONNET_4, "terse") for task in OPEN),
    ("v2_task01", "task_01", "task_01", SONNET_4, "holistic"),
    *(("multi_task", task, task, SONNET_4, "holistic") for task in OPEN[1:]),
    *(("monte_carlo", f"run_0{n}", "task_01", SONNET_4, "holistic") for n in range(1, 6)),
    ("judge_variants", "cot", "task_01", SONNET_4, "cot"),
    ("judge_variants", "decomposed", "task_01", SONNET_4, "decomposed"),
    ("cot_task02", "cot", "task_02", SONNET_4, "cot"),
    ("constrained_s4", "task_01_constrained", "task_01_constrained", SONNET_4, "holistic"),
    ("s46_task02", "task_02", "task_02", SONNET_46, "cot"),
    *(("s46_remedy", name, "task_02", SONNET_46, "cot") for name in REMEDIES),
    *(("s46_v3", name, "task_02", SONNET_46, "cot") for name in PROMPTS),
    ("s46_v3", "constrained", "pitch_500w", SONNET_46, "cot"),
    *(("s46_new_constrained", name, name, SONNET_46, "cot") for name in LIMITED),
    *(("mc_constrained_s46", f"run_0{n}", TASKS["policy"], SONNET_46, "cot") for n in range(1, 6)),
    ("s46_verdict", "verdict", "task_02", SONNET_46, "verdict"),
    *(("multi_seed", f"{t}/seed_0{n}", t, SONNET_4, "cot") for t in OPEN for n in range(1, 4)),
    *(
        ("ablations", name, "task_01", SONNET_4, "cot")
        for name in (
            *("judges/1_judge_borda", "judges/3_judge_borda", "judges/7_judge_borda"),
            *("aggregation/3_judge_borda", "aggregation/3_judge_majority"),
            *("components/full", "components/no_synthesis", "components/no_revision"),
        )
    ),
    *(("small_vs_big", f"{name}/haiku35", task, "haiku", "cot") for name, task in BRIEFS.items()),
    *(
        ("judge_ablation", f"{name}/haiku_judges", task, "haiku", "cot")
        for name, task in BRIEFS.items()
    ),
    ("paper_run", "v1", "paper", "opus", "holistic"),
]
PANELS = [
    *((f"v1/{task}", "Table 1", task, FIVE) for task in OPEN),
    *((f"multi_task/{task}", "Table 2 (T1), Figs 2-3", task, FIVE) for task in OPEN),
    ("s46_task02", "Table 4, Fig 8", "task_02", FIVE),
    ("remedies", "Table 6", "task_02", [*FIVE[1:], *(f"autoreason_{x}" for x in ("margin", "combined", "baseline"))]),
    ("pitch", "Tables 8 and 9", "pitch_500w", FIVE),
    ("postmortem", "Table 9", "task_02_constrained", FIVE),
    ("policy", "Table 9", "task_03_constrained", FIVE),
    *((f"haiku/{name}", "Table 12", task, SIX) for name, task in BRIEFS.items()),
    *((f"llama8b/{name}", "Table 13", task, FOUR) for name, task in BRIEFS.items()),
    *((f"gemini_flash/{name}", "Table 13", task, FOUR) for name, task in BRIEFS.items()),
    ("repeats", "Sec 4.5", TASKS["policy"], [f"run_{n}" for n in range(1, 6)]),
    ("compute", "Discussion, a paragraph", "task_01", ["autoreason", "cr_15", "cr_90"]),
    *((f"length/{other}", "Table 17", "task_01", ["autoreason", other]) for other in FIVE[1:]),
    ("pass15", "Sec 4.3, Sec 2", "task_01", ["pass15", "pass25"]),
]  # fmt: skip
ARMS = [
    *(("code_s46", strategy, SONNET_46) for strategy in ("autoreason", "critique", "single")),
    *(
        (experiment, strategy, "a haiku")
        for experiment in ("code_haiku", "code_haiku45")
        for strategy in ("autoreason", "critique", "single")
    ),
    *((experiment, "single", SONNET_4) for experiment in ("code_haiku", "code_haiku45", "code_best_of_n")),
    *(("code_best_of_n", strategy, "a haiku") for strategy in ("best6", "autoreason")),
]  # fmt: skip


def random_recording(rng: Random) -> Recording:
    """All of the experiments, with judges who rank at random and programs that pass at random."""
    runs = {(each[0], each[1]): random_run(rng, *each) for each in RUNS}
    panels = tuple(random_panel(rng, *each) for each in PANELS)
    for panel in panels:
        if panel.panel_id == "repeats":
            panel.words = {
                n: runs["mc_constrained_s46", n.replace("_", "_0")].words() for n in panel.methods
            }
    return Recording(
        runs=runs,
        panels=panels,
        results=tuple(result for arm in ARMS for result in random_results(rng, *arm)),
        files=3,
    )


def random_run(rng: Random, experiment: str, name: str, task: str, author: str, style: str) -> Run:
    """A run until A survives twice, or 25 passes."""
    size = int(name[7]) if name.startswith("judges/") else 3
    passes: list[PassLine] = []
    while len(passes) < 25 and [line.winner for line in passes[-2:]] != ["A", "A"]:
        judges = [Judge(tuple(rng.sample(SLOTS, 3))) for _ in range(size)]
        line = PassLine(
            experiment=experiment, run=name, number=len(passes) + 1, winner="", task=task, author_model=author,
            judge_style=style, panel_size=size, k=2, pass_cap=25, tie_order="A>B>AB", judges=judges,
            aggregation="majority" if "majority" in name else "borda", one_order_for_all_judges=False,
            words={slot: rng.randint(800, 2200) for slot in SLOTS},
        )  # fmt: skip
        firsts = [ranking[0] for ranking in line.rankings]
        line.scores = {slot: firsts.count(slot) for slot in SLOTS}
        line.winner = max(SLOTS, key=line.points.__getitem__)
        line.scores = dict(line.points)
        passes.append(line)
        if experiment == "v1_comparison":
            break
    return Run(tuple(passes))


def random_panel(rng: Random, name: str, place: str, task: str, methods: list[str]) -> PanelLine:
    rankings = [rng.sample(methods, len(methods)) for _ in range(7)]
    firsts = [ranking[0] for ranking in rankings]
    return PanelLine(
        panel_id=name, kind="rank", task=task, methods=methods, judges_requested=7, judges_valid=7,
        label_map_status="recorded", paper_table=place, ballots=[Ballot(methods=each) for each in rankings],
        first_place={method: firsts.count(method) for method in methods},
        words={method: rng.randint(800, 2200) for method in methods},
    )  # fmt: skip


def random_results(rng: Random, experiment: str, strategy: str, model: str) -> list[ResultLine]:
    """Fifty problems of each difficulty; harder ones are solved more seldom."""
    results = []
    for tier, chance in (("easy", 0.8), ("medium", 0.6), ("hard", 0.4)):
        for number in range(PROBLEMS // 3):
            public, private = rng.random() < chance, rng.random() < chance
            results.append(
                ResultLine(
                    experiment=experiment, strategy=strategy, model=model,
                    problem_id=f"{tier}_{number}", difficulty=tier,
                    pass_public=public, pass_private=private, public_passed=int(public), private_passed=int(private),
                )
            )  # fmt: skip
    return results


def random_part(rng: Random, recording: Recording, share: float) -> Recording:
    """Runs, panels and problems that a draw leaves; all strategies of a problem stay together."""
    problems = {result.problem_id for result in recording.results}
    kept = {problem for problem in sorted(problems) if rng.random() < share}
    return Recording(
        runs={name: run for name, run in recording.runs.items() if rng.random() < share},
        panels=tuple(panel for panel in recording.panels if rng.random() < share),
        results=tuple(result for result in recording.results if result.problem_id in kept),
        files=recording.files,
    )
