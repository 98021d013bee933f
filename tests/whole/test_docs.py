"""What the documents show works as shown, and what they name is there.

A block ```python runs on its own, a block ```yaml is a whole problem file, and a block ```yaml fragment is one once a
space and a level are added.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import dxopt as dx
from dxopt.batch.answering import task_warnings
from dxopt.spec import load
from dxopt.spec.private_priors import draw_private_priors
from tests.material.documents import DOCS, ROOT, resolve

README = ROOT / "README.md"
PAGES = [README, *sorted({*DOCS.glob("**/*.md")} - {*DOCS.glob("examples/**/*.md")})]
EVERY = sorted(
    {
        *PAGES,
        *DOCS.glob("examples/**/*.md"),
        *ROOT.glob("*.md"),
        *ROOT.glob("problems/**/*.md"),
        *ROOT.glob("benchmarks/**/*.md"),
    }
)
LARGEST_README = 6144
KINDS = ("csv", "txt", "graphml", "geojson")
DATA = [file for kind in KINDS for file in sorted((ROOT / "problems").glob(f"*.{kind}"))]
MADE_UP = {
    "distances.csv": "0,1,2\n1,0,1\n2,1,0\n",
    "apart.csv": ",flu,cold,gout\nflu,0,0.1,0.9\ncold,0.1,0,0.7\ngout,0.9,0.7,0\n",
    "records.csv": "person,diagnosis\n" + "".join(f"p{k},{('flu', 'cold')[k % 2]}\n" for k in range(90)),
    "losses.csv": "0,1,2\n1,0,1\n2,1,0\n",
    "edges.csv": "from,to,length\na,b,1\nb,c,2\n",
    "stations.csv": "name,lat,lon\na,45.5,-73.6\nb,45.6,-73.6\n",
    "land.geojson": '{"type": "Polygon", "coordinates": [[[-74, 45], [-73.6, 45], [-73.6, 46], [-74, 45]]]}',
    "seen.csv": "x\n0\n1\n1\n",
    "check-ins.csv": "person,lat,lon\n" + "".join(f"p{k},45.7{k % 9},4.8{k % 7}\n" for k in range(90)),
    "visits.csv": "lat,lon,people\n45.5,-73.6,3\n45.6,-73.6,2\n",
}
"""Files that examples name: the first is about three points."""
COMPLETION: dict[str, Any] = {"space": {"kind": "line", "size": 3}, "epsilon": 1.0}
SEVERAL = ("epsilon", "prior", "method")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language, without what they are indented by."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text, flags=re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


SLOW = ("docs/guides/large-spaces.md", "docs/start/positions.md")


def having(language: str, slow: tuple[str, ...] = ()) -> list[Any]:
    """The pages with such blocks."""
    return [
        pytest.param(page, id=name_of(page), marks=pytest.mark.full if name_of(page) in slow else ())
        for page in PAGES
        if blocks(page, language)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the data that examples name."""
    for file in DATA:
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "traces").symlink_to(ROOT / "problems" / "traces")
    for name, text in MADE_UP.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def draw(path: Path, content: dict[str, Any]) -> None:
    """Draw the private prior of a problem file, if it has one."""
    prior = content.get("prior")
    if isinstance(prior, dict) and prior["kind"] == "private":
        draw_private_priors(path, force=True)


PRINTED = {
    "README.md": ("private", "optimal"),
    "docs/start.md": ("private", "optimal"),
    "docs/choose/epsilon.md": ("1.39 *", "0.798", "is possible"),
    "docs/start/counts.md": (
        "by more than a factor of 2.72",
        "private",
        "Station,",
    ),
    "docs/start/positions.md": ("300 of 300 rows",),
    "docs/start/research.md": (
        "0.155",
        "0.115",
        "exists from epsilon = 0.66538",
        "mine",
        "give epsilon 1.76688 or more",
    ),
    "docs/guides/composition.md": ("epsilon at most 5.844", "delta 0 at epsilon 10", "11.10%"),
    "docs/guides/large-spaces.md": ("0.68631", "regular"),
    "docs/guides/locations.md": ("1.4045",),
    "docs/guides/words.md": ("('that', 'with', 'this', 'have', 'from')", "300 30 "),
}
WRITTEN = {
    "README.md": ("results/my-grid/claims.json", "public.csv"),
    "docs/index.md": ("public.csv",),
    "docs/start.md": ("results/first/claims.json",),
    "docs/production.md": ("beds.dxt",),
    "docs/start/counts.md": ("results/ward-cases/claims.json",),
    "docs/start/positions.md": ("town.png", "public.csv", "public.csv.dxopt.json", "results/town/claims.json"),
    "docs/guides/comparing.md": ("town.svg", "town.png", "town-first.pdf", "results/frontier/frontier.json"),
    "docs/guides/large-spaces.md": ("city.npz",),
    "docs/guides/locations.md": ("city.png", "island.png"),
    "docs/guides/sampling.md": ("town.dxt",),
}


@pytest.mark.filterwarnings("error::dxopt.PlausibilityWarning")
@pytest.mark.parametrize("page", having("python", SLOW))
def test_the_python_examples_run(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for example in blocks(page, "python"):
        exec(compile(example, name_of(page), "exec"), {})
    printed = capsys.readouterr().out
    for expected in PRINTED.get(name_of(page), ()):
        assert expected in printed
    for file in WRITTEN.get(name_of(page), ()):
        assert (folder / file).is_file(), file


def test_noise_between_bounds_has_their_values_as_the_page_on_diffprivlib_writes_it() -> None:
    page = (DOCS / "from" / "diffprivlib.md").read_text(encoding="utf-8")
    shown = next(line.split(" | ")[1] for line in page.splitlines() if "GeometricTruncated" in line)
    drawn = next(line.split(" | ")[1] for line in page.splitlines() if "randomise(value)" in line)
    names: dict[str, Any] = {"dx": dx, "a": 5, "b": 20, "e": 2, "s": 1, "value": 20}
    names["mechanism"] = eval(shown.split("`")[1], names)
    assert [*names["mechanism"].space.labels] == [str(value) for value in range(5, 21)]
    assert int(eval(drawn.split("`")[1], names)[0]) in range(5, 21)
    with pytest.raises(dx.SpecError):
        eval(drawn.split("`")[1], {**names, "value": 4})
    assert names["mechanism"].matrix == pytest.approx(dx.classic.geometric(dx.line(16), epsilon=2).matrix)


def test_what_is_printed_and_written_is_on_a_page_with_examples() -> None:
    pages = {name_of(page) for page in PAGES if blocks(page, "python")}
    assert {*PRINTED, *WRITTEN} <= pages


@pytest.mark.parametrize("page", having("yaml"))
def test_the_problem_files_load(page: Path, folder: Path) -> None:
    for example in blocks(page, "yaml"):
        path = folder / "example.yaml"
        path.write_text(example, encoding="utf-8")
        content = YAML(typ="safe").load(example)
        draw(path, content)
        tasks = load(path)
        assert tasks
        assert not [warning for task in tasks for warning in task_warnings(task)]
        if not any(isinstance(content.get(key), list | dict) for key in SEVERAL):
            assert len(tasks) == 1


@pytest.mark.parametrize("page", having("yaml fragment"))
def test_the_parts_of_problem_files_load(page: Path, folder: Path) -> None:
    for example in blocks(page, "yaml fragment"):
        content = {**COMPLETION, **YAML(typ="safe").load(example)}
        if "privacy" in content:
            del content["epsilon"]
        path = folder / "example.yaml"
        with path.open("w", encoding="utf-8") as stream:
            YAML().dump(content, stream)
        draw(path, content)
        assert load(path), example


def test_the_problem_file_of_the_readme_has_sixty_places(folder: Path) -> None:
    (example,) = blocks(README, "yaml")
    path = folder / "example.yaml"
    path.write_text(example, encoding="utf-8")
    (task,) = load(path)
    assert len(task.problem.space) == 60


def test_the_readme_is_short_and_says_how_to_test() -> None:
    assert len(README.read_bytes()) <= LARGEST_README
    assert "`make test`" in README.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its fenced blocks and code."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", lambda code: re.sub(r"[\[\]()]", " ", code[0]), text)


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as they are made of their words."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [pytest.param(page, id=name_of(page)) for page in EVERY])
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"\w+:", target):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), target
        assert ROOT in (found, *found.parents), target
        if anchor:
            assert anchor in anchors(found), target


def test_every_page_is_in_the_table_of_contents() -> None:
    linked = {
        (DOCS / target.partition("#")[0]).resolve()
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(DOCS / "index.md"))
    }
    elsewhere = (README, DOCS / "index.md")
    assert {page for page in PAGES if page not in elsewhere and DOCS / "examples" not in page.parents} <= linked


NUMBERED = {
    "CABP13": {
        "Definition": range(1, 9),
        "Theorem": (1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 13),
        "Corollary to Theorem": (11, 12, 13),
        "Fact": (5, 7),
        "Proposition": range(1, 6),
        "Example": (1, 2),
        "Figure": range(1, 5),
    },
    "Cha13": {},
    "Des20": {"Definition": range(20, 27)},
    "HLM14": {
        "Definition": (1, 2),
        "Theorem": range(1, 8),
        "Proposition": (1,),
        "Lemma": range(1, 5),
        "Corollary": (1,),
        "Example": range(1, 8),
    },
    "ECP14": {
        "Definition": range(1, 8),
        "Theorem": range(1, 5),
        "Proposition": range(1, 10),
        "Lemma": (1,),
        "Corollary": range(1, 4),
        "Example": range(1, 4),
        "Figure": range(1, 8),
    },
}


def rows(key: str) -> list[list[str]]:
    """The cells of the table of one document: statement, says, function, problem file, what is checked, tests."""
    lines = (DOCS / "theory" / "papers" / f"{key.lower()}.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")][2:]


def checks_of(cell: str) -> list[tuple[str, str]]:
    """Files below `tests/` and functions; a file that is not repeated is the one before."""
    found, file = [], ""
    for named, function in re.findall(r"`([\w/]*(?:\.py)?)::(\w+)`", cell):
        file = named or file
        found.append((file, function))
    return found


@cache
def functions_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("key", NUMBERED)
def test_every_row_of_the_papers_names_what_exists(key: str) -> None:
    for row in rows(key):
        statement, says, function, problems, _, tests = row
        assert statement, row
        assert says, row
        names = re.findall(r"`(dx(?:opt)?(?:\.\w+)+)`", function)
        for name in names:
            resolve(name)
        if re.match(r"none: \S", function):
            assert not tests, row
            continue
        assert names, row
        assert checks_of(tests), row
        assert len(checks_of(tests)) == tests.count("`") // 2, row
        for file, name in checks_of(tests):
            assert name in functions_in(file), row
        for problem in re.findall(r"`([^`]+)`", problems):
            assert list((ROOT / "problems").glob(problem)), row


@pytest.mark.parametrize("key", NUMBERED)
def test_no_statement_of_the_papers_is_left_out(key: str) -> None:
    statements = [row[0] for row in rows(key)]
    assert statements
    assert len(set(statements)) == len(statements)
    for kind, numbers in NUMBERED[key].items():
        found = {int(one[1]) for statement in statements if (one := re.match(rf"{kind} (\d+)", statement))}
        assert found == set(numbers), kind
    assert not re.search(r"TODO|LATER", "\n".join("|".join(row) for row in rows(key)))
