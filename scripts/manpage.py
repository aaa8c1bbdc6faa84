#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""manpage.py PROGRAM VERSION: print a man page made of what PROGRAM --help-all says.

The help is a GLib option context's: "Usage:", the summary, groups of options under a heading each,
the description. The summary's first paragraph becomes the line of NAME. A group "Operations:" lists
sub-commands; the help of each becomes a section of its own. A paragraph of summary or description
whose first line ends in ":" and whose other lines are indented is set as it stands: examples, exit
status.
"""
import os
import re
import subprocess
import sys

INDENTED = re.compile(r"^ +")
OPTION = re.compile(r"^  (?P<option>\S.*?)(?:  +(?P<text>\S.*))?$")
# What GLib adds by itself; the first is enough.
HELP_GROUP = "Help Options"


def help_of(command):
    environment = dict(os.environ, LC_ALL="C.UTF-8", COLUMNS="80")
    result = subprocess.run([*command, "--help-all"], stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, env=environment, check=False)
    if result.returncode != 0 or "Usage:" not in result.stdout:
        sys.exit(f"manpage.py: {' '.join(command)} --help-all: exit status {result.returncode}, and no help on "
                 f"standard output\n{result.stderr}")
    return result.stdout.replace("[OPTION?]", "[OPTION...]").replace("\u2026", "...")


def paragraphs(text):
    """Paragraphs, each a list of lines."""
    return [block.split("\n") for block in re.split(r"\n\s*\n", text.strip("\n")) if block.strip()]


def roff(text):
    """Text as troff input: no character of it is a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + text if text.startswith(".") else text


def heading(lines):
    """The heading of a paragraph that has one and is indented below it, else None."""
    first = lines[0].rstrip()
    if first.endswith(":") and len(lines) > 1 and all(INDENTED.match(line) for line in lines[1:]):
        return first[:-1]
    return None


def options(lines):
    out = []
    for line in lines:
        match = OPTION.match(line)
        if match:
            out += [".TP", f".B {roff(match['option'])}", roff(match["text"] or "")]
        else:
            out.append(roff(line.strip()))
    return [line for line in out if line]


def as_it_stands(lines):
    return [".nf", *(roff(line[2:]) for line in lines), ".fi"]


def usage(lines):
    out = []
    for line in lines:
        name, _, rest = line.strip().partition(" [" if " [" in line.strip() else " ")
        out += [".B " + roff(name), roff(("[" + rest) if " [" in line.strip() else rest)]
    return out


def split_help(text):
    """(lines of the usage, paragraphs of text, {heading: lines} of the groups)."""
    use, prose, groups = [], [], {}
    for lines in paragraphs(text):
        head = heading(lines)
        if head == "Usage":
            use = lines[1:]
        elif head and OPTION.match(lines[1]) and (lines[1].startswith("  -") or head == "Operations"):
            groups[head] = lines[1:]
        else:
            prose.append(lines)
    return use, prose, groups


def prose_sections(prose, section):
    out = []
    for lines in prose:
        head = heading(lines)
        if head and section == ".SH":
            out += [f".SH {roff(head.upper())}", *as_it_stands(lines[1:])]
        else:
            out += [".PP", *(roff(line.strip()) for line in lines)]
    return out


def group_sections(groups):
    out = []
    for head, lines in groups.items():
        if head not in (HELP_GROUP, "Operations"):
            out += [f".SS {roff(head)}", *options(lines)]
    return out


def operations(program, groups):
    """A section for each sub-command."""
    out = []
    for line in groups.get("Operations", []):
        name = line.split()[0]
        use, prose, inner = split_help(help_of([program, name]))
        out += [f".SH OPERATION {roff(name.upper())}", *usage(use), *prose_sections(prose, ".SS"), *group_sections(inner)]
    return out


def page(program, version):
    name = os.path.basename(program)
    use, prose, groups = split_help(help_of([program]))
    if not prose:
        sys.exit(f"manpage.py: {name} --help-all has no summary")
    short = " ".join(line.strip() for line in prose[0]).rstrip(".")
    short = short[0].lower() + short[1:]
    blocks = [lines for lines in prose[1:] if heading(lines)]
    text = [lines for lines in prose[1:] if not heading(lines)]
    out = ['.\\" Made by scripts/manpage.py of the output of --help.',
           f'.TH {roff(name.upper())} 1 "" "cudaj2k {version}" "User Commands"',
           ".SH NAME", f"{roff(name)} \\- {roff(short)}",
           ".SH SYNOPSIS", *usage(use)]
    if text:
        out += [".SH DESCRIPTION", *prose_sections(text, ".SH")[1:]]
    if "Operations" in groups:
        out += [".SH OPERATIONS", *options(groups["Operations"])]
    sections = group_sections(groups)
    if sections:
        out += [".SH OPTIONS", *sections]
    out += [*operations(program, groups), *prose_sections(blocks, ".SH")]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: manpage.py PROGRAM VERSION")
    sys.stdout.write(page(sys.argv[1], sys.argv[2]))
