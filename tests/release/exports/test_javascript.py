"""Tables as scripts: in Node the reports are those of Python."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dxopt as dx
from dxopt.release.exports import TARGETS
from dxopt.release.exports.export import as_json, duckdb, javascript, postgresql, sampler
from tests.material.vectors import FILE, RELEASES, ROUNDED, tables

VECTORS = json.loads(FILE.read_text(encoding="utf-8"))
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="needs Node")


def run(script: str, folder: Path) -> Any:
    """What a script prints as JSON."""
    file = folder / "asked.js"
    file.write_text(script, encoding="utf-8")
    done = subprocess.run([str(NODE), str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
@pytest.mark.parametrize("name", VECTORS["tables"])
def test_node_gives_the_reports_of_the_vectors(name: str, tmp_path: Path) -> None:
    dx.export(tables()[name], "js", tmp_path / "table.js")
    found = run(
        f"""
        const {{ table }} = require("./table.js");
        const key = "{VECTORS["key"]}";
        const {{ draws, keyed }} = {json.dumps(VECTORS["tables"][name])};
        const bytes = (hex) => Uint8Array.from(hex.match(/../g), (digits) => parseInt(digits, 16));
        console.log(JSON.stringify({{
            draws: draws.map(([secret, number]) => table.at(secret, bytes(number)).label),
            keyed: keyed.map(([who, secret, release]) => table.drawFor(key, who, secret, release).label),
        }}));
        """,
        tmp_path,
    )
    for kind in ("draws", "keyed"):
        assert found[kind] == [entry[-1] for entry in VECTORS["tables"][name][kind]]


@needs_node
def test_floats_without_all_digits_are_refused(tmp_path: Path) -> None:
    caught = "(() => { try { dxopt.identity(one); return false; } catch { return true; } })()"
    script = f"{sampler()}\nconsole.log(JSON.stringify({json.dumps(ROUNDED)}.map((one) => {caught})));"
    assert run(script, tmp_path) == [True] * len(ROUNDED)


@needs_node
def test_releases_in_other_spellings_are_refused(tmp_path: Path) -> None:
    dx.export(tables()["line"], "js", tmp_path / "table.js")
    script = f"""
        const {{ table }} = require("./table.js");
        const refused = (name) => {{
            try {{ table.drawFor("{VECTORS["key"]}", "ann", "1", name); return false; }} catch {{ return true; }}
        }};
        const numbers = ["\\ud800", 7, null, undefined];
        console.log(JSON.stringify([...{json.dumps(RELEASES)}, ...numbers, "autumn", "7.0"].map(refused)));
    """
    assert run(script, tmp_path) == [True] * (len(RELEASES) + 4) + [False] * 2


@needs_node
def test_digests_are_those_of_node(tmp_path: Path) -> None:
    found = run(
        sampler()
        + """
        const crypto = require("crypto");
        const wrong = [];
        for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 100000]) {
            const bytes = crypto.randomBytes(size);
            const key = crypto.randomBytes(32);
            const mine = [dxopt.sha256(bytes), dxopt.hmac(key, bytes)].map((one) => Buffer.from(one).toString("hex"));
            const theirs = [crypto.createHash("sha256"), crypto.createHmac("sha256", key)];
            if (theirs.some((one, i) => one.update(bytes).digest("hex") !== mine[i])) wrong.push(size);
        }
        console.log(JSON.stringify(wrong));
        """,
        tmp_path,
    )
    assert found == []


@needs_node
def test_draws_of_its_own_have_the_probabilities_of_the_table(tmp_path: Path) -> None:
    table = tables()["line"]
    dx.export(table, "js", tmp_path / "table.js")
    size = 20_000
    found = run(
        f"""
        const {{ table }} = require("./table.js");
        const counts = new Array(5).fill(0);
        for (let i = 0; i < {size}; i++) counts[table.draw("1").index]++;
        console.log(JSON.stringify(counts));
        """,
        tmp_path,
    )
    expected = np.array([size * float(table.probability(1, z, by="index")) for z in range(5)])
    # chi-square with 4 degrees of freedom: above 40 once in 2e7
    assert ((np.array(found) - expected) ** 2 / expected).sum() < 40


@needs_node
def test_the_nearest_secret(tmp_path: Path) -> None:
    grid = dx.grid((3, 3), spacing=2.0)
    dx.export(dx.integer_table(dx.classic.exponential(grid, epsilon=1.0)), "js", tmp_path / "grid.js")
    dx.export(tables()["places"], "js", tmp_path / "places.js")
    grid_found, place = run(
        """
        const grid = require("./grid.js").table.nearest([3.9, 2.2]);
        const place = require("./places.js").table.nearest([45.771, 4.8498]);
        console.log(JSON.stringify([grid, place]));
        """,
        tmp_path,
    )
    assert grid_found["label"] == "(2, 1)"
    assert grid_found["distance"] == pytest.approx(np.hypot(0.1, 0.2))
    assert place["label"] == 'Ω "x"'
    there = dx.MetricSpace.from_points([[45.77, 4.85], [45.771, 4.8498]], "haversine")
    assert place["distance"] == pytest.approx(there.distances[0, 1])


@needs_node
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('table.draw("nowhere")', "the label is that of no secret"),
        ('table.at("hall", new Uint8Array(7))', "give 8 random bytes"),
        ('table.drawFor("ab", "ann", "hall", "r")', "key: give 64 hexadecimal digits"),
        ('table.drawFor("ab".repeat(32), 7, "hall", "r")', "person: is to be text"),
        ("table.nearest([145.7, 4.8])", "give latitude and longitude, in degrees"),
        ("table.nearest([1])", "give a point of 2 numbers"),
        ("table.nearest([NaN, 1])", "give a point of 2 numbers"),
        ("new dxopt.Table(new Uint8Array(100))", "this is no table file"),
        ("changed()", "the table was changed or cut off"),
    ],
)
def test_what_is_refused(call: str, message: str, tmp_path: Path) -> None:
    town = dx.MetricSpace.from_points([[45.76, 4.83], [45.77, 4.85]], "haversine", labels=["hall", "park"])
    (tmp_path / "table.js").write_text(javascript(dx.integer_table(dx.classic.exponential(town, epsilon=0.7))))
    said = run(
        f"""
        const {{ dxopt, table }} = require("./table.js");
        const changed = () => {{
            const bytes = table._bytes.slice();
            bytes[bytes.length - 40] ^= 1;
            return new dxopt.Table(bytes);
        }};
        let said = "";
        try {{ {call}; }} catch (error) {{ said = error.message; }}
        console.log(JSON.stringify(said));
        """,
        tmp_path,
    )
    assert message in said


def test_the_script_is_small() -> None:
    assert len(sampler().encode()) < 23_000


@needs_node
def test_every_export_names_the_table_alike(tmp_path: Path) -> None:
    table = tables()["places"]
    made = {to: dx.export(table, to, tmp_path / f"table.{to}") for to in TARGETS}
    code = """
        const { dxopt, table } = require("./table.js");
        const whole = new dxopt.Table(require("fs").readFileSync(__dirname + "/table.dxt"));
        console.log(JSON.stringify([table.digest, whole.digest]));
    """
    assert run(code, tmp_path) == [table.digest] * 2
    assert made["dxt"].read_bytes()[-32:].hex() == table.digest
    assert json.loads(made["json"].read_text(encoding="utf-8"))["sha256"] == table.digest
    for to in ("js", "sql", "duckdb"):
        comments = [line for line in made[to].read_text(encoding="utf-8").splitlines() if line[:2] in ("--", "//")]
        assert f"made of the table {table.digest}" in comments[0]
    data = pd.DataFrame({"place": [table.space.labels[0]]})
    dx.apply(table, data, dx.Output(sidecar=tmp_path / "said.json"), columns=dx.Columns(label="place"))
    assert json.loads((tmp_path / "said.json").read_text())["mechanism"]["table_sha256"] == table.digest


@needs_node
def test_the_script_knows_the_level_and_its_unit(tmp_path: Path) -> None:
    table = dx.integer_table(dx.classic.geometric(dx.line(4, unit="people"), epsilon=0.7))
    dx.export(table, "js", tmp_path / "beds.js")
    table.save(tmp_path / "beds.dxt")
    code = """
        const { dxopt, table } = require("./beds.js");
        const whole = new dxopt.Table(require("fs").readFileSync(__dirname + "/beds.dxt"));
        console.log(JSON.stringify([table, whole].map((one) => [one.epsilon, one.delta, one.unit])));
    """
    assert run(code, tmp_path) == [[table.epsilon, 0, "people"]] * 2
    assert json.loads(as_json(table))["unit"] == "people"
    for script in (javascript(table), postgresql(table), duckdb(table)):
        assert f"{table.name}: epsilon {table.epsilon!r} per person" in script
