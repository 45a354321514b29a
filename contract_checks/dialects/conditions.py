"""The conditions of OpenMetadata's proposal: `IS NOT NULL`, `>= 0`, `row_count >= 5000` → metrics.

The proposal shows conditions but gives no grammar; this is a small one that reads them exactly::

    condition  = [field] predicate {"AND" predicate} ["IF" "PRESENT"]
               | "row_count" (comparison | between)
    predicate  = "IS" ["NOT"] "NULL" | comparison | between | ["NOT"] "IN" "(" literal {"," literal} ")"
               | "LIKE" text | ("MATCHES" | "REGEXP") text | ["IS"] "UNIQUE"
    comparison = (">=" | ">" | "<=" | "<" | "=" | "!=" | "<>") literal
    between    = "BETWEEN" literal "AND" literal

Keywords have no case. Bounds of `BETWEEN` are inclusive. A NULL satisfies every predicate but
`IS NOT NULL`, as it does everywhere else in a contract. A sentence is never guessed into a check.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Literal

from contract_checks.metrics import (
    AllOf,
    Bound,
    Condition,
    DuplicateKeys,
    FieldPath,
    Matches,
    Metric,
    NotNull,
    NotOneOf,
    OneOf,
    Operator,
    RowCount,
    Scalar,
    Threshold,
    Violations,
)
from contract_checks.model import Column, Thresholds, walk_columns

UNDERSTOOD = (
    "IS [NOT] NULL, a comparison such as >= 0, BETWEEN a AND b, [NOT] IN ('a', 'b'), LIKE 'a%', MATCHES 'regex', "
    "UNIQUE, row_count >= 1; IF PRESENT may follow"
)
"""What a condition may say, for messages."""

NONE_ALLOWED = Thresholds((Threshold("mustBe", 0),))
ROW_COUNT = "row_count"


class UnreadableConditionError(ValueError):
    """The text is not a condition of the grammar. The message says at what it stopped."""


@dataclass(frozen=True)
class ReadCondition:
    """A condition as the model has it: what to measure, and what must be true of it.

    `rule` is the usual word for the promise (`notNull`, `minimum`, `rowCount` …). `field` is None for a
    condition about the whole table.
    """

    rule: str
    metric: Metric
    requirement: Thresholds
    field: FieldPath | None
    if_present: bool = False


def read_condition(text: str, field: str | None = None, columns: Sequence[Column] = ()) -> ReadCondition:
    """Read `text` about the column `field`, or about the one it names itself.

    `columns` are the contract's: they tell a column from a word, and the type a literal must have.
    Raises `UnreadableConditionError` when the text is not understood exactly.
    """
    return _Parser(text, field, columns).condition()


def find_field(name: str, columns: Sequence[Column]) -> tuple[FieldPath, Column | None]:
    """The field that `name` means among `columns`, and its column; the name as it is if there is none.

    The exact name comes first, then the name whatever its case if only one column has it, then the same
    for a dotted path to a nested field.
    """
    known = walk_columns(tuple(columns))
    for wanted in ((name,), tuple(name.split("."))):
        exact = [found for found in known if found[0] == wanted]
        folded = [found for found in known if _folded(found[0]) == _folded(wanted)]
        if exact or len(folded) == 1:
            return (exact or folded)[0]
    return (name,), None


def typed_literal(value: Scalar, column: Column | None) -> Scalar:
    """`value` as a value of the column's type: a text becomes the date, time or number it spells.

    Raises `UnreadableConditionError` when it is no value of that type.
    """
    categories = column.type.categories if column is not None and column.type is not None else frozenset()
    if column is None or not categories or value is None:
        return value
    if categories <= {"date", "timestamp", "time"}:
        moment = read_moment(value) if isinstance(value, str) else None
        if moment is None:
            raise UnreadableConditionError(f"{value!r} is no date or time, which '{column.name}' holds")
        return moment
    if categories <= {"integer", "number"}:
        if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+(?:\.[0-9]+)?", value.strip()):
            return _number(value.strip())
        if isinstance(value, bool | str):
            raise UnreadableConditionError(f"{value!r} is no number, which '{column.name}' holds")
    if categories == {"boolean"} and not isinstance(value, bool):
        raise UnreadableConditionError(f"{value!r} is neither true nor false, which '{column.name}' holds")
    return value


def whole_number(value: int | Decimal) -> int | None:
    """The number as an `int`; None if it has a fraction, or is so large that writing it out would hurt."""
    if isinstance(value, int):
        return value
    if not value.is_finite() or value.adjusted() > 40 or value != value.to_integral_value():
        return None
    return int(value)


def read_moment(text: str) -> date | datetime | time | None:
    """An ISO 8601 date, date-time or time of day, or None."""
    for pattern, parse in (
        (r"\d{4}-\d{2}-\d{2}", date.fromisoformat),
        (r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*", datetime.fromisoformat),
        (r"\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?", time.fromisoformat),
    ):
        if re.fullmatch(pattern, text):
            try:
                return parse(text)
            except ValueError:
                return None
    return None


# --------------------------------------------------------------------------- the parser

_Kind = Literal["text", "number", "operator", "name", "word"]
_TOKENS = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
      | (?P<number>[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
      | (?P<operator>>=|<=|<>|!=|==|[=<>(),])
      | (?P<name>`[^`]+`)
      | (?P<word>[^\W\d][\w.$\[\]]*)
    )""",
    re.VERBOSE,
)
_KEYWORDS = frozenset(
    (
        "AND",
        "BETWEEN",
        "IF",
        "IN",
        "IS",
        "LIKE",
        "MATCHES",
        "NOT",
        "NULL",
        "PRESENT",
        "REGEXP",
        "UNIQUE",
        "TRUE",
        "FALSE",
    )
)
_BOUNDS: dict[str, tuple[Literal[">=", ">", "<=", "<"], str]] = {
    ">=": (">=", "minimum"),
    ">": (">", "exclusiveMinimum"),
    "<=": ("<=", "maximum"),
    "<": ("<", "exclusiveMaximum"),
}
_COUNTS: dict[str, Operator] = {
    "=": "mustBe",
    "==": "mustBe",
    "!=": "mustNotBe",
    "<>": "mustNotBe",
    ">": "mustBeGreaterThan",
    ">=": "mustBeGreaterOrEqualTo",
    "<": "mustBeLessThan",
    "<=": "mustBeLessOrEqualTo",
}


@dataclass(frozen=True)
class _Token:
    kind: _Kind
    text: str

    @property
    def keyword(self) -> str:
        return self.text.upper() if self.kind == "word" and self.text.upper() in _KEYWORDS else ""


class _Parser:
    """One pass over the tokens of one condition."""

    def __init__(self, text: str, field: str | None, columns: Sequence[Column]) -> None:
        self.tokens = _tokens(text)
        self.position = 0
        self.columns = columns
        self.field: FieldPath | None = None
        self.column: Column | None = None
        if field:
            self.field, self.column = find_field(field, columns)
        self.named = field

    def condition(self) -> ReadCondition:
        first = self.peek()
        if first is None:
            raise UnreadableConditionError("it is empty")
        if first.kind == "word" and first.text.lower() == ROW_COUNT and self._row_count_is_no_column():
            self.position += 1
            return self.row_count()
        quoted = first.kind == "name" or first.text.startswith('"')
        if quoted or (first.kind == "word" and not first.keyword and len(self.tokens) > 1):
            self.position += 1
            self._name(_unquoted(first))
        if self.field is None:
            raise UnreadableConditionError("it names no column and has no 'field' beside it")
        if self._take("UNIQUE") or self._take("IS", "UNIQUE"):
            return self.end("unique", DuplicateKeys((self.field,)))
        rules, conditions = [], []
        while True:
            rule, condition = self.predicate()
            rules.append(rule)
            conditions.append(condition)
            if not self._take("AND"):
                break
        if len(conditions) == 1:
            return self.end(rules[0], Violations(self.field, conditions[0]))
        return self.end("allOf", Violations(self.field, AllOf(tuple(conditions))))

    def end(self, rule: str, metric: Metric, requirement: Thresholds = NONE_ALLOWED) -> ReadCondition:
        if_present = self._take("IF", "PRESENT")
        left = self.peek()
        if left is not None:
            raise UnreadableConditionError(f"nothing may follow at {left.text!r}")
        return ReadCondition(rule, metric, requirement, None if rule == "rowCount" else self.field, if_present)

    def row_count(self) -> ReadCondition:
        if self._take("BETWEEN"):
            low = self._count()
            self._expect("AND")
            threshold = Threshold("mustBeBetween", (low, self._count()))
        else:
            token = self.peek()
            if token is None or token.text not in _COUNTS:
                raise UnreadableConditionError("'row_count' is not followed by a comparison")
            self.position += 1
            threshold = Threshold(_COUNTS[token.text], self._count())
        return self.end("rowCount", RowCount(), Thresholds((threshold,)))

    def predicate(self) -> tuple[str, Condition]:
        if self._take("IS", "NOT", "NULL"):
            return "notNull", NotNull()
        if self._take("IS", "NULL"):
            return "null", OneOf(())
        if self._take("BETWEEN"):
            low = self._literal()
            self._expect("AND")
            return "between", AllOf((Bound(">=", low), Bound("<=", self._literal())))
        if self._take("NOT", "IN"):
            return "notEnum", NotOneOf(self._literals())
        if self._take("IN"):
            return "enum", OneOf(tuple(value for value in self._literals() if value is not None))
        if self._take("LIKE"):
            return "like", Matches(_like(self._text()))
        if self._take("MATCHES") or self._take("REGEXP"):
            return "pattern", Matches(self._text())
        token = self.peek()
        if token is None:
            raise UnreadableConditionError("it ends too early")
        if token.kind == "operator" and token.text in _COUNTS:
            self.position += 1
            value = self._literal()
            if value is None:
                raise UnreadableConditionError(f"'{token.text} NULL' holds for no value; say IS NULL or IS NOT NULL")
            if token.text in _BOUNDS:
                if isinstance(value, bool):
                    raise UnreadableConditionError("true and false have no order")
                operator, rule = _BOUNDS[token.text]
                return rule, Bound(operator, value)
            return ("equals", OneOf((value,))) if token.text in ("=", "==") else ("notEquals", NotOneOf((value,)))
        raise UnreadableConditionError(f"{token.text!r} begins no condition")

    def peek(self) -> _Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _name(self, name: str) -> None:
        if self.named is None:
            self.field, self.column = find_field(name, self.columns)
        elif name.lower() != self.named.lower():
            raise UnreadableConditionError(f"it speaks of '{name}', but its 'field' is '{self.named}'")

    def _row_count_is_no_column(self) -> bool:
        return self.named is None and find_field(ROW_COUNT, self.columns)[1] is None

    def _take(self, *keywords: str) -> bool:
        found = self.tokens[self.position : self.position + len(keywords)]
        if [token.keyword for token in found] != list(keywords):
            return False
        self.position += len(keywords)
        return True

    def _expect(self, keyword: str) -> None:
        if not self._take(keyword):
            raise UnreadableConditionError(f"'{keyword}' is missing")

    def _sign(self, sign: str) -> bool:
        token = self.peek()
        if token is None or token.kind != "operator" or token.text != sign:
            return False
        self.position += 1
        return True

    def _literals(self) -> tuple[Scalar, ...]:
        if not self._sign("("):
            raise UnreadableConditionError("'IN' is not followed by a list in parentheses")
        values = [self._literal()]
        while self._sign(","):
            values.append(self._literal())
        if not self._sign(")"):
            raise UnreadableConditionError("the list of 'IN' is not closed")
        return tuple(dict.fromkeys(values))

    def _literal(self) -> Scalar:
        return typed_literal(self._raw_literal(), self.column)

    def _raw_literal(self) -> Scalar:
        token = self.peek()
        if token is None:
            raise UnreadableConditionError("it ends where a value should be")
        self.position += 1
        if token.kind == "number":
            return _number(token.text)
        if token.kind == "text":
            return _unquoted(token)
        if token.keyword in ("TRUE", "FALSE", "NULL"):
            return {"TRUE": True, "FALSE": False, "NULL": None}[token.keyword]
        raise UnreadableConditionError(f"{token.text!r} is no value; a text needs quotes")

    def _text(self) -> str:
        token = self.peek()
        if token is None or token.kind != "text":
            raise UnreadableConditionError("a pattern in quotes is missing")
        self.position += 1
        return _unquoted(token)

    def _count(self) -> int:
        token = self.peek()
        value = whole_number(_number(token.text)) if token is not None and token.kind == "number" else None
        if value is None:
            raise UnreadableConditionError("'row_count' is not compared with a whole number")
        self.position += 1
        return value


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position, text = 0, text.strip()
    while position < len(text):
        match = _TOKENS.match(text, position)
        if match is None or match.lastgroup is None:
            raise UnreadableConditionError(f"{text[position:].strip()[:20]!r} is no part of a condition")
        tokens.append(_Token(match.lastgroup, match.group(match.lastgroup)))  # type: ignore[arg-type]
        position = match.end()
    return tokens


def _unquoted(token: _Token) -> str:
    quote = token.text[0]
    return token.text[1:-1].replace(quote * 2, quote) if quote in "'\"`" else token.text


def _number(text: str) -> int | Decimal:
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else Decimal(text)


def _like(pattern: str) -> str:
    """SQL's LIKE pattern as a regular expression for the whole value."""
    if "\\" in pattern:
        raise UnreadableConditionError("databases differ in what a backslash in LIKE means; say MATCHES")
    parts = {"%": r"[\s\S]*", "_": r"[\s\S]"}
    plain = re.compile(r"([\^$.*+?()\[\]{}|/])")
    return "^" + "".join(parts.get(letter, plain.sub(r"\\\1", letter)) for letter in pattern) + "$"


def _folded(path: FieldPath) -> FieldPath:
    return tuple(segment.lower() for segment in path)
