#!/usr/bin/env python3
"""generate_python_records.py SCHEMA [--check FILE]: python/assay/records.py from docs/record.schema.json, to standard
output. A list of objects under a name is a class of its own, every property a field with its description. --check says
nothing where FILE is what would be written, else what to run, and ends with 1.

    tools/generate_python_records.py docs/record.schema.json > python/assay/records.py
"""

import json
import keyword
import re
import sys
import textwrap

HEAD = '''"""What assay writes as JSON, as dataclasses. Made from docs/record.schema.json by
tools/generate_python_records.py: change the field list in src/results, not this file.

Every field has a default, so that what an older program wrote can be read; what a newer one wrote beside these is kept
in `extra`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from assay._reading import JsonObject
'''

# What one object of a list is called, where it is not the list's name in the singular.
CLASS_NAMES = {"ledger": "LedgerRow", "inputs": "LedgerInput"}
CLASS_MEANINGS = {
    "LedgerInput": "An input of the model and where it lies.",
    "LedgerRow": "One operation of a run: what was asked, what ran, and how that is known.",
    "Record": "One measurement: what was measured, on what, what came out, and how far it can be trusted.",
    "Finding": "What a rule says of records.",
    "Origin": "The start of the program that a file comes from.",
    "RecordFile": "What assay bench --json writes.",
}
SCALARS = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
}


def class_name(name):
    if name in CLASS_NAMES:
        return CLASS_NAMES[name]
    words = [word.capitalize() for word in name.split("_")]
    last = words[-1]
    words[-1] = last[:-3] + "y" if last.endswith("ies") else last[:-1] if last.endswith("s") else last
    return "".join(words)


def field_name(name):
    return name + "_" if keyword.iskeyword(name) or not name.isidentifier() else name


class Module:
    """Classes in the order in which Python needs them: what a list holds stands before who has the list."""

    def __init__(self):
        self.classes = {}

    def type_of(self, name, schema):
        """The annotation of a property, and its default."""
        types = schema.get("type", "object")
        if isinstance(types, list):
            return " | ".join(SCALARS[one] for one in types), "None"
        if "enum" in schema:
            return f"Literal[{', '.join(map(repr_of, schema['enum']))}] | None", "None"
        if types == "array":
            items = schema.get("items", {})
            if items.get("type") == "object":
                return f"list[{self.add_class(class_name(name), items)}]", "field(default_factory=list)"
            return f"list[{self.type_of(name, items)[0].removesuffix(' | None')}]", "field(default_factory=list)"
        if types == "object" and schema.get("properties"):
            return f"{self.add_class(class_name(name), schema)} | None", "None"
        if types == "object":
            return SCALARS["object"], "field(default_factory=dict)"
        return f"{SCALARS[types]} | None", "None"

    def add_class(self, name, schema):
        if name in self.classes:
            return name
        lines = [f"class {name}(JsonObject):"]
        lines += doc_lines(CLASS_MEANINGS.get(name, "An object of the schema."))
        optional = sorted(set(schema["properties"]) - set(schema.get("required", schema["properties"])))
        if optional:
            names = ", ".join(map(repr_of, optional))
            lines += ["", f"    optional: ClassVar[frozenset[str]] = frozenset(({names},))"]
        for key, one in schema["properties"].items():
            annotation, default = self.type_of(key, one)
            lines += ["", *wrapped_field(field_name(key), annotation, default)]
            if one.get("description"):
                lines += doc_lines(one["description"])
        lines += ["", "    extra: dict[str, Any] = field(default_factory=dict)"]
        lines += doc_lines("What this version does not know.")
        self.classes[name] = lines
        return name

    def text(self):
        parts = [HEAD]
        for lines in self.classes.values():
            parts.append("\n\n@dataclass(frozen=True)\n" + "\n".join(lines) + "\n")
        return "".join(parts)


def repr_of(text):
    return json.dumps(text)


def wrapped_field(name, annotation, default):
    line = f"    {name}: {annotation} = {default}"
    if len(line) <= 120:
        return [line]
    match = re.fullmatch(r"Literal\[(.*)\](.*)", annotation)
    return (
        [f"    {name}: Literal["]
        + textwrap.wrap(match[1], 112, initial_indent=" " * 8, subsequent_indent=" " * 8, break_on_hyphens=False)
        + [f"    ]{match[2]} = {default}"]
    )


def doc_lines(text):
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    lines = textwrap.wrap(f'"""{text}"""', 116, break_on_hyphens=False, break_long_words=False)
    return ["    " + line for line in lines]


def module_text(schema_path):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    module = Module()
    module.add_class("RecordFile", schema)
    return module.text()


def main(arguments):
    if len(arguments) not in (1, 3) or (len(arguments) == 3 and arguments[1] != "--check"):
        print(__doc__, file=sys.stderr)
        return 2
    text = module_text(arguments[0])
    if len(arguments) == 1:
        sys.stdout.write(text)
        return 0
    with open(arguments[2], encoding="utf-8") as file:
        if file.read() == text:
            return 0
    schema, written = arguments[0], arguments[2]
    print(f"{written} is not what {schema} says; run: tools/generate_python_records.py {schema} >{written}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
