"""Why some changes of a result may pass: what is listed here claims nothing that is not true, each with the reason.

An entry that is not listed is a claim: so is a new one, until it is listed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FEWER = ("missing", "none", "null")


@dataclass(frozen=True)
class Rule:
    """Entries `file: path` and changes, as regular expressions, that may pass, and why."""

    entry: str
    why: str
    change: str = ".*"
    readers: str = ".*"
    kinds: str = ".*"

    def allows(self, kind: str, reader: str, entry: str, change: str) -> bool:
        """Whether it is about a change of an entry."""
        found = zip((self.entry, self.change, self.readers, self.kinds), (entry, change, reader, kind), strict=True)
        return all(re.fullmatch(pattern, text) for pattern, text in found)


_CLAIMS = "epsilon|delta|private|value|bound|gap|status|objective|metric|distances|points|prior|matrix|loss|tolerance"
_MORE = "(twice|one more|a little more|infinite|tiny)"
_LESS = rf"{_MORE}|all {_MORE}|entry \d+ {_MORE}|times (2.0|1.000001)"
RULES = (
    # 1. What is no claim (docs/reference/verify.md).
    Rule(r"notes\.json: .*|held_out\.npz: .*", "nobody verifies it, and the verdict says so", readers="verify"),
    Rule(r"notes\.json: .*", "not read for what is proven", readers="load"),
    Rule(r"(input|summary)\.json: .*|summary\.md: .*|sweep\.csv: .*", "not checked, and the verdict says so"),
    Rule(r".*\.(svg|png|html): .*", "drawn from the other files"),
    Rule(r"claims\.json: found\..*", "how the mechanism was asked for"),
    Rule(r"claims\.json: rests_on\..*", "what the prover reads does not depend on it"),
    Rule(r"claims\.json: rests_on|problem\.yaml: .*", "not read: `verify` compares it", readers="load"),
    Rule(r"claims\.json: rests_on", "what the prover reads does not depend on it", "none"),
    Rule(r"claims\.json: problem\.prior", "`verify` compares it with the prior", "uniform", "load"),
    Rule(r"mechanism\.npz: format", "`verify` compares it", readers="load"),
    Rule(r"claims\.json: problem\.name|(frontier|level|sweep)\.json: problem", "what the problem is called"),
    Rule(r"claims\.json: problem\.prior", "what the prior is called, but for uniform", "(?!uniform).*"),
    Rule(r"claims\.json: problem\.loss", "a loss of another name counts as given", "(?!distance).*"),
    Rule(r"claims\.json: problem\.loss_by_distance", "losses are in the arrays, or follow from the name"),
    Rule(r"claims\.json: problem\.units\.(loss|value)", "what losses and errors are in is given"),
    Rule(r"claims\.json: problem\.units\.distance", "blanks after it are stripped", "space", "load"),
    Rule(r"claims\.json: tolerance", "the tolerance is given; the status follows from it and the gap"),
    Rule(r"claims\.json: table", "why there is no table"),
    Rule(r"(table|mechanism)\.(npz|dxt): (\d+/)*(name|how)", "how a mechanism is called, and was proven"),
    Rule(
        r"(mechanism|table)\.(npz|dxt): (\d+/)*(labels|reports|space\.(\d+\.)*labels)",
        "names of secrets and reports",
    ),
    Rule(r"(mechanism|table)\.(npz|dxt): (\d+/)*space\.positions\..*", "where places are on a map", kinds="streets"),
    Rule(
        r"(mechanism|table)\.(npz|dxt): (\d+/)*space\.positions\.(outlines|streets)",
        "areas around places are given",
    ),
    Rule(r"claims\.json: evaluation(\..*)?|claims\.json: beliefs(\..*)?", "`verify` proves measures", readers="load"),
    Rule(r"comparison\.json: .*", "computed again from the parts, or left to `verify`", readers="load"),
    Rule(r"comparison\.npz: \d+/matrix", "another baseline, whose figures are computed", readers="load"),
    Rule(r"comparison\.json: (rows\.\d+\.note|verdict\.reason)", "a note"),
    Rule(r"comparison\.json: interrupted", "whether others are missing"),
    Rule(r"comparison\.json: rows\.\d+\.name", "what a row is called"),
    Rule(r"comparison\.json: rows\.\d+(\..*)?", "fewer figures", "|".join(FEWER)),
    Rule(
        r"comparison\.json: refinements\.\d+\.shortfall",
        "at least so much is lost without a refinement",
        r"a little less|half|times (0\.5|0\.999999)",
        kinds="(?!worst).*",
    ),
    Rule(
        r"comparison\.json: refinements\.\d+\.shortfall",
        "a refinement up to more says less",
        _MORE,
        kinds="worst|regular",
    ),
    Rule(r"comparison\.json: refinements\.1\.shortfall", "as before: it is a refinement", _MORE, kinds="irregular"),
    Rule(r"comparison\.json: refinements\.31\.shortfall", "a refinement up to rounding, or to more", kinds="noise"),
    Rule(r"comparison\.json: refinements\.1[34]\.shortfall", "as before", kinds="relaxed"),
    Rule(r"comparison\.json: refinements\.0\.shortfall", "as before", "negative|0", kinds="regular"),
    Rule(r"comparison\.json: refinements\.0\.shortfall", "as before", "half|a little less|negative|0", kinds="worst"),
    Rule(
        r"comparison\.json: refinements\.1\.shortfall", "no refinement, by less", "half|a little less", kinds="worst"
    ),
    Rule(r"comparison\.json: rows", "each row names its part: the order claims nothing", "reversed"),
    Rule(r"comparison\.json: refinements\.\d+\.(better|worse)", "proven of the pair that is named", ".+"),
    Rule(r"table\.dxt: (prior|cost|variation)", "`verify` proves it, where the mechanism is", readers="table"),
    Rule(r"table\.dxt: prior", "draws do not need it", "missing"),
    # 2. What was asked for is given, and all is proven of it.
    Rule(r"problem\.npz: (prior|losses)", "is given, and all is computed of it", readers="load"),
    Rule(r"problem\.npz: losses", "is given, and all is proven of it", kinds=".*own loss|beliefs.*"),
    Rule(r"problem\.npz: (adversary_loss|max_loss)", "is given, and all is proven of it"),
    Rule(r"problem\.npz: belief_.*", "are given, and all is proven of them", kinds="beliefs.*"),
    Rule(r"problem\.npz: prior", "the worst loss has no prior", kinds="beliefs and privacy"),
    Rule(r"problem\.npz: (epsilon|delta)", "a weaker level was asked for", _LESS, "load"),
    Rule(r"problem\.npz: epsilon", "was asked for, and a lower level is proven", kinds="exponential"),
    Rule(r"problem\.npz: epsilon", "the level that was asked for is given, and all is proven of it", "times .*"),
    Rule(r"problem\.npz: epsilon", "another level is asked for, and all is proven of it as well", kinds="adversary"),
    Rule(r"problem\.npz: delta", "no privacy was asked for", kinds="unprotected"),
    Rule(r"mechanism\.npz: space\.distances", "are given, and all is proven of them", "entry .*", "load", "given"),
    Rule(r"frontier\.json: (wanted|budgets\.\d+)|level\.json: (accuracy|max_loss)", "was asked for"),
    Rule(r"frontier\.json: resolution", "a share of nothing, as the curve is flat up to rounding", kinds="budgets"),
    Rule(r"frontier\.json: (values|bounds|prices)", "the curve is flat up to rounding", "reversed", kinds="budgets"),
    Rule(r"frontier\.json: status", "it says that less was found", "interrupted|time limit", kinds="budgets"),
    Rule(r"sweep\.json: status", "it says that less was found", "feasible|interrupted|time limit"),
    Rule(
        r"claims\.json: status",
        "how it ended, where no optimum is claimed",
        "interrupted|time limit",
        kinds="exponential|noise|regular|irregular|relaxed|worst|sweep|asked",
    ),
    # 3. What repeats something in other words, or says less.
    Rule(rf"(?!.*[./: ]({_CLAIMS})$).*", "what is not there claims nothing", "|".join(FEWER)),
    Rule(r"claims\.json: certificate\.epsilon", "no level was asked for", "null", kinds="unprotected|beliefs"),
    Rule(
        r"(table|mechanism)\.(npz|dxt): (\d+/)*pairs|claims\.json: problem\.pairs",
        "without δ all pairs are bound",
        kinds="(?!.*(relaxed|adjacent)).*",
    ),
    Rule(r"(mechanism|problem|table|comparison)\.(npz|dxt): .*", "the same as text", "as text"),
    Rule(r"(mechanism|table)\.(npz|dxt): (\d+/)*secrets", "reports may be as good as secrets", "the other one"),
    Rule(
        r"claims\.json: evaluation\.(smallest_delta|delta of one record)",
        "within 1e-11 of the least δ, and proven",
    ),
    Rule(r"claims\.json: beliefs\..*places.*", "other beliefs with the same figure"),
    Rule(r"claims\.json: beliefs", "in another order", "reversed"),
    Rule(r"mechanism\.npz: matrix", "another channel of the same value", "entry .* a little .*|.* along .", "load"),
    Rule(
        r"mechanism\.npz: matrix",
        "an entry next to 0, which no figure shows",
        r"entry \d+ a little (less|more)",
        kinds="beliefs and privacy",
    ),
    Rule(r"comparison\.npz: 2/matrix", "another baseline, worth the same to 1e-9", kinds="relaxed"),
    Rule(
        r"(claims\.json: certificate\.|table\.dxt: )epsilon",
        "a level next to 0, within 1e-12 of the least",
        "times .*",
        kinds="budgets",
    ),
    Rule(r"table\.dxt: bits", "a row of one report is certain, whatever the total", ".* twice", kinds="budgets"),
    Rule(
        r"table\.dxt: steps",
        "another table, as private, whose cost is the same to 1e-12",
        r"entry \d+ (twice|one more|one less)",
        "verify",
        "irregular",
    ),
    # 4. Other points with the same distances.
    Rule(
        r"(mechanism|table)\.(npz|dxt): (\d+/)*((space\.(\d+\.)*)?(points|metric)|report_points)",
        "such distances count the coordinates that differ",
        kinds="product of coordinates|hamming|discrete|words",
    ),
    Rule(
        r"(mechanism|table)\.(npz|dxt): (\d+/)*((space\.(\d+\.)*)?points|report_points)",
        "mirrored, or given distances: the same ones",
        r"reversed.*|all negative|times -1\.0|rolled|entry 1 negative|first two .*",
    ),
    Rule(r"mechanism\.npz: report_points", "reports are given where they are, and losses follow"),
    Rule(r"problem\.npz: distances", "those of the space are taken", "missing", "load"),
    Rule(
        r"mechanism\.npz: (\d+/)*space\.(\d+\.)*metric",
        "norms are the same on a line",
        "first (manhattan|chebyshev|euclidean)",
    ),
    Rule(
        r"(mechanism|table)\.(npz|dxt): (\d+/)*space\.\d+\.kind|mechanism\.npz: \d+/space\.kind",
        "a torus of 2 by 2",
        "first lattice",
    ),
    Rule(
        r"(mechanism|table)\.(npz|dxt): space\.0\.metric",
        "two points at distance 1 under any",
        kinds="parts",
    ),
    Rule(r"(mechanism|table)\.(npz|dxt): (\d+/)*space\.edges", "the same edges, of one length", kinds="tree"),
    # 5. What is proven whatever it is.
    Rule(r"dual\.npz: .*", "whatever a dual has, it proves the bound that is claimed"),
    Rule(
        r"comparison\.npz: (\d+/remap/weights|refined/\d+/(remap|gains))",
        "whatever a remap, gains or weights have, they prove what is claimed",
    ),
    Rule(r"mechanism\.npz: (\d+/)*epsilon", "a part may be more private than it says", _LESS),
    Rule(r"mechanism\.npz: (\d+/)*(delta|epsilon)", "none is 0, and the level is proven of the parts", "missing"),
    Rule(r"mechanism\.npz: (\d+/)*delta", "a weaker level", r"entry \d+ (infinite|one more|tiny)"),
    Rule(r"mechanism\.npz: (\d+/)*delta", "not read: it is proven again", readers="load", kinds="kernel.*|product.*"),
    Rule(r"mechanism\.npz: (\d+/)*(0/)(weights|slack|level)", "the index that gets the rests makes up for it"),
    Rule(r"mechanism\.npz: (held|slack)", "the value is the same to 1e-12, and all of it is private"),
    Rule(
        r"mechanism\.npz: (\d+/)+space\..*|mechanism\.npz: space\..*",
        "the base has it",
        readers="load",
        kinds="(kernel|product).*",
    ),
    Rule(
        r"problem\.npz: (distances|losses)", "the mechanism has the space", readers="load", kinds="product.*|.*line"
    ),
    Rule(r"(?!table\.dxt).*|table\.dxt: (epsilon|delta)", "not read, or a weaker level", _LESS, readers="table"),
    Rule(r"(?!table\.dxt).*", "not read", readers="table"),
    Rule(r"table\.dxt: .*", "not read", readers="load"),
    Rule(
        r"table\.dxt: (space\..*|points|distances)",
        "other distances, at a level that is proven",
        readers="table",
    ),
    Rule(r"table\.dxt: pairs", "a weaker level", "first adjacent", "table"),
    Rule(
        r"table\.dxt: (starts|which|steps)",
        "another table that is as private; `verify` has the result",
        readers="table",
    ),
)


def reason(kind: str, reader: str, file: str, path: str, change: str) -> str | None:
    """Why a change that passes is harmless; None where it is not."""
    if file == "scaled":
        return _scaled(kind, reader, change)
    entries = path.split(" & ") if file == "together" else [f"{file}: {path}"]
    if any(re.fullmatch(_ROW_NAME, entry) for entry in entries):
        entries = [entry for entry in entries if not re.fullmatch(_REFINED, entry)]  # called so wherever it is named
    found = [_single(kind, reader, entry, change) for entry in entries]
    return found[0] if all(found) else None


def _single(kind: str, reader: str, entry: str, change: str) -> str | None:
    if (kind, reader) == ("level", "load") and entry.startswith(("parts/", "level.json")):
        return "not read: `verify` proves that no lower level is enough"
    if change == "missing" and re.fullmatch(r"(.*/)?parts/comparison/parts/\d+/problem\.npz: distances", entry):
        return "a part has its space, which is compared with that of the whole"
    entry = re.sub(r"^[^:]*/(?=[^/:]*: )", "", entry)
    return next((rule.why for rule in RULES if rule.allows(kind, reader, entry, change)), None)


_ROW_NAME = r"(.*/)?comparison\.json: rows\.\d+\.name"
_REFINED = r"(.*/)?comparison\.json: refinements\.\d+\.(better|worse)"
_COUNTED = ("product of coordinates", "hamming", "discrete")
_FIXED = ("cells", "places", "places again", "miles")
_NO_POINTS = ("given", "graph", "tree", "parts", "streets")
_IMPLICIT = (
    "line",
    "uneven line",
    "kernel",
    "kernel elsewhere",
    "kernel, own loss",
    "product",
    "product, written down",
    "product of parts",
)


def _scaled(kind: str, reader: str, change: str) -> str | None:
    """Quantities scaled so that all that follows from them is as well are about another problem, and true of it.

    Where there is a map, points and distances have a fixed scale; elsewhere distances are those of points that are
    scaled as well, or given. Then ε may be as much smaller as distances are larger, and losses by name follow.
    """
    kinds, by = change.rsplit(" times ", 1)
    chosen = set(kinds.split(", "))
    if kind == "unprotected" and chosen <= {"names", "epsilon"}:
        return "no level was asked for"
    if kind == "beliefs" and chosen <= {"names", "epsilon", "losses", "values"}:
        return "no level of single secrets was asked for, and losses are given"
    if reader == "table":
        weaker = float(by) < 1 or "epsilon" not in chosen or chosen & {"points", "distances"}
        return "a table of other distances, at a level that is proven" if weaker else None
    if chosen == {"names"}:
        return "names that do not read as coordinates"
    if reader == "verify" and chosen <= {"degrees", "names"}:
        return "where places are on a map, which `load` compares with the points"
    if kind in _COUNTED and chosen <= {"points", "names", *(("losses",) if reader == "load" else ())}:
        return "such distances count the coordinates that differ; `verify` compares losses"
    if kind == "streets" and (reader == "load" or (chosen >= {"degrees"} and float(by) < 1)):
        return "roads may be longer than straight ways on the map; `verify` compares them"
    if kind == "normalised" and reader == "load":
        return "given distances: the metric has a parameter that is not in the files"
    if kind == "product, written down" and reader == "load" and "points" not in chosen:
        return "not read: the mechanism has the space"
    moved = "distances" in chosen or ("points" in chosen and kind in _IMPLICIT)
    fixed = kind in _FIXED and chosen & {"points", "distances", "degrees"}
    apart = kind not in (*_NO_POINTS, *_IMPLICIT, *_FIXED) and ("points" in chosen) is not moved
    if fixed or apart:
        return None
    if chosen <= {"degrees", "names"}:
        return "where places are on a map"
    if "epsilon" in chosen and float(by) > 1 and not moved:
        return None
    return "another problem, and all that follows is true of it"
