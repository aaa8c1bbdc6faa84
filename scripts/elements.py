#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""elements.py [--check] PROGRAM PLUGIN SOURCE: write SOURCE/docs/elements.md, the element reference.

Description and examples are the documentation comments in SOURCE/gst; the rest is what the elements
of PLUGIN say of themselves through PROGRAM, describe-elements.c. With --check the file is compared
and not written, and the answer is in TAP.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ELEMENTS = ("cudaj2kenc", "cudaj2kdec", "rtpj2ksclpay", "rtpj2kscldepay")
BASE_CLASS = {"cudaj2kenc": "GstVideoEncoder", "cudaj2kdec": "GstVideoDecoder",
              "rtpj2ksclpay": "GstRTPBasePayload", "rtpj2kscldepay": "GstRTPBaseDepayload"}
HEAD = """# Element reference

The properties, pads and examples of the elements {elements}, as this version's build has
them. docs/properties.md says how the properties belong together. `gst-inspect-1.0 ELEMENT` shows the same and, with the GStreamer that
is installed, all raw video formats and the properties of the base class.

<!-- scripts/elements.py makes this file: ninja -C build elements-md -->
"""


def records(program, plugin):
    """What describe-elements prints, one list of fields a record."""
    with tempfile.TemporaryDirectory() as folder:
        # Only this plugin: neither an installed one nor the user's registry.
        environment = dict(os.environ, GST_REGISTRY=os.path.join(folder, "registry.bin"), GST_PLUGIN_PATH="",
                           GST_PLUGIN_PATH_1_0="", GST_PLUGIN_SYSTEM_PATH="", GST_PLUGIN_SYSTEM_PATH_1_0="",
                           LC_ALL="C.UTF-8")
        output = subprocess.run([program, plugin, *ELEMENTS], env=environment, check=True, stdout=subprocess.PIPE,
                                text=True).stdout
    return [line.split("\t") for line in output.splitlines()]


def section_comment(source, element):
    """The lines of an element's documentation comment without their stars."""
    for path in sorted((source / "gst").rglob("*.c")):
        match = re.search(r"/\*\*\n \* SECTION:element-" + element + r"\n(.*?)\n \*/", path.read_text(), re.S)
        if match:
            lines = [line[3:] if line.startswith(" * ") else "" for line in match[1].split("\n")]
            return [line for line in lines if not line.startswith("@")]
    sys.exit(f"elements.py: no comment SECTION:element-{element} in {source}/gst")


def documentation(source, element):
    """The comment as Markdown: (description, examples)."""
    text = "\n".join(section_comment(source, element)).strip()
    text = re.sub(r"#Gst\w+:([a-z0-9-]+)", r"`\1`", text)
    text, _, examples = text.partition("## Example launch lines\n")
    out = []
    for command, comment in re.findall(r"\|\[\n(.*?)\n\]\|(.*?)(?=\n\|\[|\Z)", examples, re.S):
        command = " \\\n        ".join(command.split("\n"))
        out.append(" ".join(comment.split()).rstrip(".") + ":\n\n    " + command)
    return text.strip(), "\n\n".join(out)


def cell(text):
    return text.replace("|", "\\|")


def property_rows(fields):
    name, kind, span, default, when, blurb = fields
    kind = {"chararray": "string", "uint": "unsigned"}.get(kind, kind)
    kind += f", {span}" if span else ""
    return f"| `{name}` | {kind} | {'`' + default + '`' if default else ''} | {when} | {cell(blurb)} |"


def merged(tables):
    """Tables of (property, kind), those that several properties share once: {(properties, kind): values}."""
    out = {}
    for (prop, kind), values in tables.items():
        same = next((key for key in out if out[key] == values and key[1] == kind), None)
        out[(f"{same[0]}, `{prop}`" if same else f"`{prop}`", kind)] = out.pop(same) if same else values
    return out


def element_page(source, group):
    """One element's part of the page; `group` is its records, the first is the element itself."""
    name, title, klass, _ = group[0][1:]
    description, examples = documentation(source, name)
    rows, tables, pads, signals, current = [], {}, [], [], None
    for kind, *fields in group[1:]:
        if kind == "pad":
            pads.append(f"| `{fields[0]}` | {fields[1]} | {', '.join(f'`{media}`' for media in fields[2:])} |")
        elif kind == "property":
            rows.append(property_rows(fields))
            current = fields[0]
        elif kind == "signal":
            signals.append(f"- `{fields[0]}`")
        else:
            tables.setdefault((current, kind), []).append(fields)
    pads.sort(key=lambda row: "| sink |" not in row)
    out = [f"## {name}", f"{title} ({klass}).", description, "### Pads",
           "| name | direction | media types |\n| --- | --- | --- |\n" + "\n".join(pads),
           "### Properties", f"And those of {BASE_CLASS[name]}.",
           "| property | type, range | default | can be set | meaning |\n| --- | --- | --- | --- | --- |\n"
           + "\n".join(rows)]
    for (props, kind), values in merged(tables).items():
        if kind == "value":
            lines = [f"- `{nick}`" + (f": {text}" if text and text != nick else "") for nick, text in values]
            out.append(f"Values of {props}:\n\n" + "\n".join(lines))
        else:
            out.append(f"Fields of {props}: " + ", ".join(f"`{field[0]}`" for field in values) + ".")
    out += ["### Signals", "\n".join(signals)] if signals else []
    out += ["### Examples", examples] if examples else []
    return "\n\n".join(out)


def page(program, plugin, source):
    groups = []
    for record in records(program, plugin):
        if record[0] == "element":
            groups.append([])
        groups[-1].append(record)
    head = HEAD.format(elements=", ".join(f"`{name}`" for name in ELEMENTS))
    return "\n\n".join([head.strip(), *(element_page(source, group) for group in groups)]) + "\n"


def check(path, text):
    """TAP: the file is the text."""
    old = path.read_text() if path.exists() else ""
    print("1..1")
    if old == text:
        print("ok 1 - docs/elements.md is what the build says")
        return
    print("not ok 1 - docs/elements.md is what the build says")
    print("# write it anew with: ninja -C BUILD elements-md")
    for line in list(difflib.unified_diff(old.splitlines(), text.splitlines(), "docs/elements.md", "the build",
                                          lineterm="", n=0))[:40]:
        print("#", line)


def main(arguments):
    checking = arguments[:1] == ["--check"]
    if len(arguments) != 3 + checking:
        sys.exit("usage: elements.py [--check] PROGRAM PLUGIN SOURCE")
    program, plugin, source = arguments[checking:]
    path = pathlib.Path(source) / "docs" / "elements.md"
    text = page(program, plugin, pathlib.Path(source))
    if checking:
        check(path, text)
    else:
        path.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
