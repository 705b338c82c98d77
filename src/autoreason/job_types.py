"""What a run is for: one type of value for each kind of job, with just its own fields, cheap to import."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from autoreason.fields import check_ranges

Product = Literal["text", "programs", "files"]
RuleName = Literal["race", "greedy", "independent"]
Instead = Literal["", "research", "solve"]
MAX_PARALLEL = 1000
"""Cells of a suite at a time."""
MAX_WORKERS = 1000
"""Processes that run them."""


class JobType(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What a run is for, recorded with its settings; `job_class` finds the code that does it."""

    code: ClassVar[str] = ""
    """The class that does it, as `module:Class`."""
    writes: ClassVar[Product | None] = None
    """What it writes; None where it judges what others have written."""
    steps_write: ClassVar[Product | None] = None
    """What its steps write, where that has prompts of its own and it writes nothing itself."""
    report: ClassVar[str] = ""
    """What makes the report of a run that judges, from its story alone, as `module:function`."""

    def __post_init__(self) -> None:
        check_ranges(type(self), asdict(self))

    @property
    def name(self) -> str:
        return str(self.__struct_config__.tag)

    @property
    def label(self) -> str:
        return self.name.replace("_", " ")

    @property
    def is_tournament(self) -> bool:
        """Whether texts compete in passes, by the method itself."""
        return False

    @property
    def is_sampling(self) -> bool:
        """Whether its passes are independent drafts."""
        return False


class Refine(JobType, frozen=True, kw_only=True, tag="refine"):
    """A text, written by a strategy."""

    writes = "text"

    strategy: Annotated[
        str,
        "`autoreason`, or a rival: `single`, `conservative`, `improve`, `harsh`, `critique_revise` and "
        "`self_refine`, in which no one judges, `best_of_n`, in which a panel chooses a draft, `alternatives`, in "
        "which it chooses several; or your own, `file.py:Class`.",
    ] = "autoreason"
    strategy_options: Annotated[
        dict[str, Any], "What only this strategy understands, such as n=4 for `best_of_n`."
    ] = {}

    @property
    def name(self) -> str:
        return self.strategy

    @property
    def label(self) -> str:
        return Path(self.strategy).name

    @property
    def is_tournament(self) -> bool:
        return self.strategy == "autoreason"

    @property
    def is_sampling(self) -> bool:
        return self.strategy in ("best_of_n", "alternatives")


class Judge(JobType, frozen=True, kw_only=True, tag="judge"):
    """Finished texts ranked by a panel."""

    code = "autoreason.studies.panel_jobs:RankedPanel"
    report = "autoreason.studies.panel_report:panel_report"

    cut_from: Annotated[
        dict[str, Annotated[int, Meta(ge=1)]],
        "Words of the texts before they were cut to one length; empty where they were not.",
    ] = {}


class JudgePairs(Judge, frozen=True, kw_only=True, tag="judge_pairs"):
    """Finished texts compared two at a time, in both orders."""

    code = "autoreason.studies.panel_jobs:PairwisePanel"

    @property
    def label(self) -> str:
        return "judge, pairwise"


class Rejudge(JobType, frozen=True, kw_only=True, tag="rejudge"):
    """The panels of a recorded run once more."""

    code = "autoreason.studies.panel_jobs:RejudgeJob"

    of: Annotated[str, "The run."]


class Certify(JobType, frozen=True, kw_only=True, tag="certify"):
    """A judge measured on questions whose answers are known."""

    code = "autoreason.studies.certificate:Certification"
    report = "autoreason.studies.certificate:certificate_of"

    model: Annotated[str, "The judge."]
    suite: Annotated[int, "The version of the questions."]
    repeats: Annotated[int, Meta(ge=1, le=20), "How often all questions are asked."] = 1


class HostCheck(JobType, frozen=True, kw_only=True, tag="host_check"):
    """Whether a context that a host starts sees a project's instructions."""

    code = "autoreason.studies.host_check:HostCheckJob"
    report = "autoreason.studies.host_check:host_check_report"

    word: Annotated[str, "The test word that stands in the file meanwhile."]
    file: Annotated[str, "What the host reads of a project's instructions."]
    folder: Annotated[str, "Where runs begin that this is about."]


class KnowledgeTest(JobType, frozen=True, kw_only=True, tag="knowledge_test"):
    """Whether records of outcomes help judges."""

    code = "autoreason.studies.knowledge_test:KnowledgeTestJob"
    report = "autoreason.studies.knowledge_test:knowledge_report"

    folder: Annotated[str, "Where the records are, and where the verdict goes."]


class Advise(JobType, frozen=True, kw_only=True, tag="advise"):
    """Whether a brief is worth a whole run."""

    code = "autoreason.studies.advice_job:AdviceJob"
    steps_write = "text"

    instead: Annotated[
        Instead, "The command that the task is for, where a number or tests exist."
    ] = ""
    source: Annotated[str, "The brief's file, for the commands that the advice names."] = ""


class Solve(JobType, frozen=True, kw_only=True, tag="solve"):
    """A program for a problem."""

    code = "autoreason.programs.solve_job:SolveJob"
    writes = "programs"

    set: Annotated[str, "The digest of the set, under which the examiner saved it."] = ""
    strategy: Annotated[str, "How the program is written."] = "search"
    calls: Annotated[
        int,
        Meta(ge=1, le=1000),
        "Calls a strategy may make for one problem, second tries included.",
    ] = 6
    k: Annotated[int, Meta(ge=1, le=1000), "Stop after A wins this many passes in a row."] = 2
    unsafe: Annotated[bool, "Programs may be run without a sandbox where there is none."] = False
    broken: Annotated[
        tuple[str, ...],
        "Lines of the set that could not be read, and why: `line 17: no statement`.",
    ] = ()


MIN_EVALUATIONS = 16
"""A noise floor of three, an end test of six pairs, and one evaluation of one candidate."""


class Research(JobType, frozen=True, kw_only=True, tag="research"):
    """An artifact improved against a number."""

    code = "autoreason.artifacts.research_job:ResearchJob"
    writes = "files"

    evaluations: Annotated[
        int,
        Meta(ge=MIN_EVALUATIONS, le=100_000),
        "Evaluations in all: noise, search, finalists and end test.",
    ] = 200
    rule: Annotated[
        RuleName,
        "`race`; or a rival: `greedy` keeps what beats the record in one evaluation, `independent` proposes from the "
        "start.",
    ] = "race"
    parallel: Annotated[int, Meta(ge=1, le=64), "Proposals and evaluations under way at once."] = 1
    patience: Annotated[
        int, Meta(ge=1, le=10_000), "Stop after this many proposals in a row were not kept."
    ] = 25
    unsafe: Annotated[bool, "Evaluators may be run without a jail where there is none."] = False
    output: Annotated[
        str,
        "The folder that the command line writes changed files to, also after a pause; empty is a patch.",
    ] = ""


class Lab(JobType, frozen=True, kw_only=True, tag="lab"):
    """A suite: tasks by arms, each cell a run of its own."""

    code = "autoreason.studies.lab_job:LabJob"

    parallel: Annotated[int, Meta(ge=1, le=MAX_PARALLEL), "Cells at a time."] = 16
    workers: Annotated[
        int,
        Meta(ge=0, le=MAX_WORKERS),
        "Processes that run cells; 0 runs them in this one, or on Ray in one for each processor.",
    ] = 0
    ray: Annotated[
        str,
        "The Ray cluster whose nodes run cells: its address, `auto`, or `local` for one that is started here.",
    ] = ""
    base: Annotated[
        str, "The suite whose finished cells this one has, too, where repeats were added."
    ] = ""


AnyJob = (
    Refine
    | Judge
    | JudgePairs
    | Rejudge
    | Certify
    | HostCheck
    | KnowledgeTest
    | Advise
    | Solve
    | Research
    | Lab
)
"""Every kind of job: a new one is a struct here, and the module that it names."""
