# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds the places of a C source at which one small change makes a mutant."""
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One change: `length` characters at `offset` of the file are replaced by `text`."""
    path: str
    offset: int
    length: int
    text: str
    kind: str
    line: int

    def apply(self, source):
        return source[:self.offset] + self.text + source[self.offset + self.length:]

    def name(self):
        return f"{self.path}:{self.line}:{self.kind}:{self.offset}"


# What a token becomes. Tokens stand between blanks, which clang-format guarantees for binary operators.
TOKENS = [
    ("boundary", r"(?<= )(<|<=|>|>=)(?= )", {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}),
    ("negation", r"(?<= )(==|!=)(?= )", {"==": "!=", "!=": "=="}),
    ("sign", r"(?<= )([+-]=?)(?= )", {"+": "-", "-": "+", "+=": "-=", "-=": "+="}),
    ("logic", r"(?<= )(&&|\|\|)(?= |\n)", {"&&": "||", "||": "&&"}),
]
COMMENT_OR_STRING = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|^[ \t]*#(?:\\\n|[^\n])*""", re.S | re.M)
NUMBER = re.compile(r"(?<![\w.])(\d+|0x[0-9a-fA-F]+)([uU]?[lL]*)(?![\w.])")
CONDITION = re.compile(r"\b(if|while) \(")
# One statement that fills its line: a call, or an assignment to something that was declared before.
STATEMENT = re.compile(r"^[ ]+((?!return\b|goto\b|break\b|continue\b|else\b|case\b|default\b|typedef\b|extern\b)"
                       r"[*(]*[A-Za-z_][\w.>\[\]()*-]*(?: [|&^+*/<>-]*= [^;]*|\([^;]*\)|\+\+|--));$", re.M)


def blank(match):
    """Text of the same length and lines without anything to mutate."""
    return re.sub(r"[^\n]", "\0", match[0])


def closing(text, begin):
    """The offset of the parenthesis that closes the one at `begin`, or -1."""
    depth = 0
    for offset in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[offset], 0)
        if depth == 0:
            return offset
    return -1


def in_function(text):
    """For each offset whether it lies in a function: declarations and tables of a file do not."""
    inside, depth, function = bytearray(len(text)), 0, False
    for offset, letter in enumerate(text):
        if letter == "{":
            if depth == 0:
                function = text[:offset].rstrip().endswith(")")
            depth += 1
        elif letter == "}":
            depth -= 1
        inside[offset] = depth > 0 and function
    return inside


def find(path, source):
    """All mutants of a file."""
    text = COMMENT_OR_STRING.sub(blank, source)
    inside = in_function(text)
    mutants = []

    def add(offset, length, replacement, kind):
        if inside[offset]:
            mutants.append(Mutant(path, offset, length, replacement, kind, source.count("\n", 0, offset) + 1))

    for kind, pattern, changes in TOKENS:
        for match in re.finditer(pattern, text):
            add(match.start(1), len(match[1]), changes[match[1]], kind)
    for match in NUMBER.finditer(text):
        number = int(match[1], 0)
        add(match.start(), len(match[0]), f"{number + 1}{match[2]}", "constant")
        if number > 0:
            add(match.start(), len(match[0]), f"{number - 1}{match[2]}", "constant")
    for match in CONDITION.finditer(text):
        end = closing(text, match.end() - 1)
        if end > 0:
            add(match.end() - 1, end + 1 - (match.end() - 1), f"(!{source[match.end() - 1:end + 1]})", "condition")
    for match in STATEMENT.finditer(text):
        add(match.start(1), len(match[1]), "", "statement")
    return mutants
