"""Problem files that are refused: one line, at the right position; and the schema that editors use."""

from __future__ import annotations

import pickle
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from dxopt.errors import one_line
from dxopt.spec import MAX_REGULAR, SpecFileError, json_schema, load
from dxopt.spec.spaces import Lattice, Line
from tests.material.broken_specs import BROKEN, GOOD, Broken, edited, with_space
from tests.material.spec_files import LOSSES, PRIORS, SPACES, refusal, small, task_of, tasks_of


def check_line(error: SpecFileError, path: Path, broken: Broken) -> None:
    text = str(error)
    pattern = rf"{re.escape(one_line(str(path)))}:{broken.line}:{broken.column}: {re.escape(broken.field)}: [^;]+; .+"
    assert re.fullmatch(pattern, text), text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_broken(folder: Path, broken: Broken) -> None:
    check_line(refusal(folder, broken.text), folder / "problem.yaml", broken)


def test_files_that_cannot_be_read(folder: Path) -> None:
    (folder / "latin.yaml").write_bytes("name: x\nloss: größe\n".encode("latin-1"))
    positions = {"latin.yaml": (2, 9), ".": (1, 1), "none.yaml": (1, 1), "a\0b": (1, 1), "latin.csv/x": (1, 1)}
    for name, (line, column) in positions.items():
        with pytest.raises(SpecFileError) as caught:
            load(folder / name)
        check_line(caught.value, folder / name, Broken(name, "", line, column, "file"))


def test_the_first_error_in_file_order_is_told(folder: Path) -> None:
    wrong = [("euclidean", "euclid"), ("2.0}", "x}"), ("loss:", "los:"), ("highs", "1")]
    for start in range(len(wrong)):
        new = wrong[start][1].removesuffix("}").removesuffix(":")
        error = refusal(folder, edited(*reversed(wrong[start:])))
        assert edited(wrong[start]).splitlines()[error.line - 1][error.column - 1 :].startswith(new)


def test_what_is_missing_comes_after_what_its_mapping_holds(folder: Path) -> None:
    assert refusal(folder, "spce: {kind: line, size: 2}\nepsilon: 1\n").field == "spce"
    assert refusal(folder, "space: {kind: line, sze: 2}\nepsilon: x\n").field == "space.sze"
    assert refusal(folder, "space: {kind: line}\nepsilon: x\n").field == "space.size"


def test_aliases_are_read(folder: Path) -> None:
    text = "epsilon: &one 1\nspace: {kind: points, values: [&row [*one, 2], [3, 4], *row]}\n"
    assert task_of(folder, text).problem.space.distances[0, 2] == 0


def test_the_cap_itself_is_allowed() -> None:
    assert Line.model_validate({"kind": "line", "size": MAX_REGULAR}).size == MAX_REGULAR
    assert Lattice.model_validate({"kind": "grid", "shape": [MAX_REGULAR, 1]}).shape == [MAX_REGULAR, 1]


def test_errors_survive_pickling(folder: Path) -> None:
    error = refusal(folder, BROKEN[-1].text)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.fix) == (SpecFileError, str(error), error.fix)


def test_mutilated_files_give_errors_not_tracebacks(folder: Path) -> None:
    generator = random.Random(7)
    pieces = ["", *":{}[]", "*a", "&a ", *"\t\n'-0!", "? ", "...", "null", "true", "#", " "]
    for _ in range(150):
        text = generator.choice([GOOD, *(broken.text for broken in BROKEN)])
        for _ in range(generator.randint(1, 4)):
            start = generator.randrange(len(text) + 1)
            text = text[:start] + generator.choice(pieces) + text[start + generator.randrange(8) :]
        try:
            tasks_of(folder, text)
        except SpecFileError as error:
            assert len(str(error).splitlines()) == 1


# the schema


def plain(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def test_schema_accepts_good_files() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    texts = [GOOD, *(small(space) for space, _ in SPACES), *(with_space(space) for space, _ in SPACES)]
    texts += [small("{kind: line, size: 2}", f"prior: {prior}") for prior, _ in PRIORS]
    texts += [small("{kind: line, size: 2}", f"loss: {loss}") for loss, _ in LOSSES]
    for text in texts:
        validator.validate(plain(text))


REJECTED = """unknown key|unknown inner key|no space|no columns|empty value|space is text|unknown kind|bad top|
number is text|number is quoted|number is true|sum|both privacy and epsilon|neither|epsilon is 0|no radius|
shape of 0|both values and file|edge of one end|unknown prior|unknown loss|unknown method|tolerance of 1|no source"""


@pytest.mark.parametrize("name", REJECTED.replace("\n", "").split("|"))
def test_schema_rejects_bad_files(name: str) -> None:
    (broken,) = (broken for broken in BROKEN if broken.name == name)
    validator = jsonschema.Draft202012Validator(json_schema())
    assert not validator.is_valid(plain(broken.text))


def test_every_field_of_the_schema_is_described() -> None:
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for model in [schema, *schema["$defs"].values()]:
        for name, field in model["properties"].items():
            assert field.get("description"), name
            records = name in ("at", "joined", "observed", "marginals")
            assert "null" not in str({**field, "items": None} if records else field), name  # null: absent


def test_networkx_waits_for_a_graph() -> None:
    code = "import sys, dxopt.spec; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "fix"),
    [
        ("loss: distance", "eps: 1", "did you mean epsilon?"),
        ("loss: distance", "Loss: distance", "did you mean loss?"),
        ("loss: distance", "time-limit: 3", "did you mean time_limit?"),
        ("loss: distance", "mechanism: tight", "did you mean method?"),
        ("loss: distance", "eval: [worst_loss]", "did you mean evaluate?"),
        ("radius:", "factor: 2, radius:", "did you mean level? a factor of 2 is level: ln(2)"),
        ("radius:", "epsilon: 2, radius:", "did you mean level?"),
        ("radius:", "fo: 2, radius:", "did you mean for?"),
        ("radius:", "colour: 2, radius:", "choose one of level, radius, for"),
    ],
)
def test_what_an_unknown_key_was_meant_to_be(folder: Path, old: str, new: str, fix: str) -> None:
    assert edited((old, new)).count(new) == 1
    error = refusal(folder, edited((old, new)))
    assert (error.wrong, error.fix) == ("is no known key here", fix)


def test_what_is_not_close_is_not_suggested(folder: Path) -> None:
    for name in ("seed", "colour", "port", "lossless_compression"):
        assert refusal(folder, edited(("loss: distance", f"{name}: 1"))).fix.startswith("choose one of name, space,")


def test_a_first_line_that_looks_like_data_is_not_shown(folder: Path) -> None:
    text = "name: town\nspace: {kind: points, file: seen.csv, columns: [lat, lon]}\nepsilon: 1\n"
    for line in ("p093,37.767530,-122.428865", "37.767530,37.767530,7"):
        (folder / "seen.csv").write_text(f"{line}\n{line}\n", encoding="utf-8")
        said = str(refusal(folder, text))
        assert "header" in said and "looks like data" in said
        assert "p093" not in said and "37.76" not in said
