"""The reference of problem files, written from the JSON Schema: `python -m docs.website.problem_files`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML

from docs.website.links import DOCS, ROOT
from docs.website.schema_types import Node, branches, in_words, instance, name_of, shown
from dxopt.spec import json_schema

PAGE = DOCS / "reference" / "problem-files.md"
LONGEST = 60
"""Examples of more letters are not shown in a table."""
GUIDES = {
    "space": "problem-files.md#space",
    "privacy": "problem-files.md#privacy",
    "epsilon": "problem-files.md#epsilon",
    "beliefs": "correlated.md",
    "objective": "objectives.md#in-problem-files",
    "prior": "problem-files.md#prior",
    "loss": "problem-files.md#loss",
    "reports": "problem-files.md#reports",
    "evaluate": "problem-files.md#evaluate",
    "learns": "problem-files.md#learns",
    "expect": "problem-files.md#expect",
}
"""Where each group of sections is explained."""

_FIRST = ("space", "privacy", "epsilon", "prior", "loss")
"""The groups that come first, so that what others share with them is there."""

_HEAD = """# Problem files: every key

Written from the JSON Schema (`dxopt schema`) by `python -m docs.website.problem_files`;
[Problem files](../guides/problem-files.md) explains them. Numbers may be written `ln(a)`, `log2(a)`, `sqrt(a)`,
`a/b` or `ln(a)/b`. *Required* keys must be there; a key without a default may be left out. Each example is from a
problem file that tests load.
"""


class Reference:
    """The sections of the schema, where each is on the page, and an example of every key."""

    def __init__(self) -> None:
        self.schema = json_schema()
        self.sections: dict[str, Node] = self.schema["$defs"]
        self.group: dict[str, str] = {}
        self.key: dict[str, str] = {}
        for key in (*_FIRST, *self.schema["properties"]):
            self._gather(self.schema["properties"][key], key, key)
        self.titles = self._titles()
        self.examples: dict[tuple[str, str], str] = {}
        self.whole: dict[str, str] = {}
        for content in _corpus():
            self._collect(content, self.schema, "")

    def page(self) -> str:
        """Return the page in Markdown."""
        parts = [_HEAD, "## The file\n", self._table("", self.schema)]
        for group in dict.fromkeys(self.group.values()):
            parts.append(f"\n## {group}\n\nExplained in [{_title(GUIDES[group])}](../guides/{GUIDES[group]}).\n")
            for name in (one for one, key in self.group.items() if key == group):
                parts.append(f"### {self.titles[name]}\n\n{self.sections[name].get('description', '')}\n")
                parts.append(self._table(name, self.sections[name]))
                parts.append(f"\n```text\n{self.whole[name]}\n```\n")
        return "\n".join(parts)

    def lacking(self) -> list[str]:
        """Keys without an example."""
        keys = [("", key) for key in self.schema["properties"]]
        keys += [(name, key) for name in self.group for key in self.sections[name]["properties"]]
        nodes = {"": self.schema, **self.sections}
        lacking = [
            (n, key)
            for n, key in keys
            if not self.examples.get((n, key)) and not instance(nodes[n]["properties"][key])
        ]
        return [*(name for name in self.group if name not in self.whole), *map(".".join, lacking)]

    def _gather(self, node: Any, group: str, key: str) -> None:
        """Put every section that may stand under a key of the file into its group."""
        if isinstance(node, list):
            for one in node:
                self._gather(one, group, key)
        elif isinstance(node, dict):
            if "$ref" in node and name_of(node) not in self.group:
                self.group[name_of(node)], self.key[name_of(node)] = group, key
                for inner, one in self.sections[name_of(node)]["properties"].items():
                    self._gather(one, group, inner)
            for one in node.values():
                self._gather(one, group, key)

    def _titles(self) -> dict[str, str]:
        """Headings: the key and the kind, and what else a section has where that is not one alone."""
        found = {}
        for name, group in self.group.items():
            section = self.sections[name]
            kind = section["properties"].get("kind", {})
            word = kind.get("const") or ", ".join(kind.get("enum", ()))
            needed = [one for one in section.get("required", ()) if one != "kind"] or list(section["properties"])
            alike = [one for one in self.group if self.group[one] == group and self._kind(one) == kind]
            if self.key[name] != group and self._nested(name):
                found[name] = f"{group}: {self.key[name]}"
            elif word and len(alike) == 1:
                found[name] = f"{group}: {word}"
            else:
                found[name] = f"{group}: {word}{' with ' * bool(word)}{', '.join(needed)}"
        return found

    def _kind(self, name: str) -> Node:
        return self.sections[name]["properties"].get("kind", {})

    def _nested(self, name: str) -> bool:
        """Whether a section stands under a key of another section, alone."""
        return sum(self.key[one] == self.key[name] for one in self.group) == 1

    def _link(self, name: str) -> str:
        title = self.titles[name]
        return f"[{title}](#{re.sub(r'[^-a-z0-9_ ]', '', title.lower()).replace(' ', '-')})"

    def _table(self, name: str, section: Node) -> str:
        lines = ["| key | value | default | example | meaning |", "|---|---|---|---|---|"]
        required = section.get("required", ())
        for key, node in section["properties"].items():
            default = "*required*" if key in required else f"`{shown(node['default'])}`" if "default" in node else ""
            example = self.examples.get((name, key)) or instance(node)
            example = f"`{example}`" if 0 < len(example) <= LONGEST else "below"
            meaning = node.get("description", "")
            cells = [f"`{key}`", in_words(node, self._link), default, example, meaning]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        return "\n".join(lines)

    def _collect(self, value: Any, node: Node, name: str) -> None:
        """Keep the shortest example of each key of a section, and of each section."""
        section = self._fitting(value, node)
        if isinstance(value, list):
            for items in (one["items"] for one in [node, *branches(node)] if "items" in one):
                for one in value:
                    self._collect(one, items, name)
        if section is None or not isinstance(value, dict):
            return
        name, node = section
        if name:
            self.whole[name] = min(self.whole.get(name, "~" * 999), f"{self.group[name]}: {shown(value)}", key=len)
        for key, one in value.items():
            if key in node["properties"]:
                self.examples[name, key] = min(self.examples.get((name, key), "~" * 999), shown(one), key=len)
                self._collect(one, node["properties"][key], name)

    def _fitting(self, value: Any, node: Node) -> tuple[str, Node] | None:
        """Return the section that a mapping is, of those that may stand there."""
        if not isinstance(value, dict):
            return None
        if "properties" in node and node is self.schema:
            return "", node
        for one in [node, *branches(node)]:
            if "$ref" in one:
                section = self.sections[name_of(one)]
                kind = section["properties"].get("kind", {})
                kinds = kind.get("enum", [kind.get("const")])
                needed = set(section.get("required", ()))
                if needed <= set(value) <= set(section["properties"]) and value.get("kind") in kinds:
                    return name_of(one), section
            elif one is not node and (found := self._fitting(value, one)):
                return found
        return None


def _corpus() -> Iterator[Any]:
    """Problem files, and the parts of such in the guides."""
    yaml = YAML(typ="safe")
    for guide in sorted((DOCS / "guides").glob("*.md")):
        for block in re.findall(
            r"^```yaml(?: fragment)?\n(.*?)^```$", guide.read_text("utf-8"), re.DOTALL | re.MULTILINE
        ):
            yield yaml.load(block)
    for file in sorted((ROOT / "problems").glob("*.yaml")):
        yield yaml.load(file.read_text(encoding="utf-8"))


def _title(guide: str) -> str:
    text = (DOCS / "guides" / guide.partition("#")[0]).read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# ")


if __name__ == "__main__":
    PAGE.write_text(Reference().page(), encoding="utf-8")
