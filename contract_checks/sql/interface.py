"""Metric → SQL expression, and how databases differ.

Expressions are built as sqlglot trees, so one description serves every database; what differs is a
method of `Sql` that a subclass replaces.

A condition becomes the predicate that is true for the values that *break* it, since violations are what
is counted. A predicate may be NULL for a NULL value, which is never counted.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import ClassVar, Literal
from zoneinfo import ZoneInfo

from sqlglot import exp

from contract_checks.datatypes import (
    Category,
    category_of,
    field_type,
    has_timezone,
    is_float,
    is_open_document,
    is_single,
)
from contract_checks.metrics import (
    EACH,
    MESSAGE_TIME,
    AllOf,
    Before,
    Bound,
    Condition,
    FieldPath,
    FollowedWithin,
    FoundColumn,
    HasFormat,
    HasKeys,
    Length,
    Matches,
    MultipleOf,
    NotFuture,
    NotNull,
    NotOneOf,
    OneOf,
    Parsed,
    Scalar,
    Size,
    UniqueItems,
    field_text,
)
from contract_checks.patterns import Plain, compile_pattern, to_java, to_plain, to_postgres, to_re2
from contract_checks.sql.literals import from_text, rounds_to_single
from contract_checks.sql.relation import Encoding as Encoding
from contract_checks.sql.relation import Part as Part
from contract_checks.sql.relation import Relation as Relation
from contract_checks.sql.relation import Value as Value
from contract_checks.sql.relation import is_not_null as is_not_null
from contract_checks.sql.relation import is_null as is_null
from contract_checks.values import STATED_OFFSET, plain_text
from contract_checks.wording import meant


class Unmeasurable(Exception):
    """A metric cannot be asked of this relation; the message says why, for a person."""


class NeedsValues(Exception):
    """A condition cannot be put into this engine's SQL exactly; its distinct values must be judged instead.

    `condition` is what they must satisfy, where it is another one than was asked for.
    """

    def __init__(self, condition: Condition | None = None) -> None:
        self.condition = condition
        super().__init__()


class NotApplicable(Exception):
    """A condition has no meaning for what is there; the message says why, for a person."""


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A function call that sqlglot passes through as it is."""
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def text(value: str) -> exp.Expr:
    """A string literal."""
    return exp.Literal.string(value)


def number(value: int | Decimal | float) -> exp.Expr:
    """A numeric literal with every digit of `value`."""
    decimal = value if isinstance(value, Decimal) else Decimal(repr(value))
    if not decimal.is_finite():
        raise Unmeasurable(f"{value} is not a finite number")
    literal = exp.Literal.number(format(abs(decimal), "f"))
    return exp.Neg(this=literal) if decimal.is_signed() and decimal != 0 else literal


def count_if(predicate: exp.Expr) -> exp.Expr:
    """The number of rows for which `predicate` is true; 0, never NULL, for no rows."""
    return exp.Count(this=exp.Case(ifs=[exp.If(this=predicate.copy(), true=exp.Literal.number(1))]))


def json_path(fields: FieldPath) -> str:
    """The path of fields inside a JSON document, as DuckDB and SQLite write it: `$."a"."b c"`."""
    return "$" + "".join('."' + name.replace('"', '\\"') + '"' for name in fields)


NEVER: exp.Expr = exp.EQ(this=exp.Literal.number(1), expression=exp.Literal.number(0))
"""False, also where a database has no word for it."""


class Sql:
    """Standard SQL, and the base of what each database does differently."""

    regex: ClassVar[Literal["re2", "postgres", "ecma", "java"] | None] = None
    """Which language the engine's regular expressions speak; None when no exact translation is known."""
    groups_first: ClassVar[bool] = False
    """Whether groups that are totalled have to be made first, or the engine makes them on one core."""
    plain_patterns: ClassVar[tuple[str, ...]] = ()
    """Which patterns without operators (see `patterns.Plain`) are compared as texts, since `=` tells all apart."""
    collation: ClassVar[str | None] = None
    """The collation that tells all characters apart, where a column may have another."""
    text_type: ClassVar[str] = "TEXT"
    """The type, in the database's own spelling, that any text may be cast to."""
    whole_averages: ClassVar[bool] = False
    """Whether the average of integers is an integer."""
    stddev: ClassVar[str | None] = "STDDEV_POP"
    """The function for the standard deviation of a population; None where there is none."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.dialect = relation.dialect

    # ------------------------------------------------------------------ values

    def value(self, path: FieldPath) -> Value:
        """The value at `path`. Raises `Unmeasurable` if there is no such column or field."""
        if any(each in path for each in EACH):
            raise Unmeasurable(f"items of arrays cannot be checked on {self.dialect} ({field_text(path)})")
        column = self._column(path)
        expression: exp.Expr = exp.column(column.name, quoted=True)
        if len(path) == 1:
            category = self._category(column.native_type, column.category)
            return Value(expression, category, column.native_type, format=self._format(path, category))
        native_type = self._field_type(column, path)
        parent = expression
        for name in path[1:]:
            parent, expression = expression, self.child(expression, name, native_type)
        category = category_of(native_type, self.dialect)
        return Value(expression, category, native_type, parent, format=self._format(path, category))

    def _format(self, path: FieldPath, category: Category) -> str | None:
        """The pattern by which a text column says dates or times."""
        return self.relation.formats.get(path) if category == "string" else None

    def child(self, parent: exp.Expr, name: str, native_type: str) -> exp.Expr:
        """The field `name` of a struct."""
        raise Unmeasurable(f"fields of a struct cannot be checked on {self.dialect} ({name})")

    def _column(self, path: FieldPath) -> FoundColumn:
        column = self.relation.find(path[0])
        if column is None:
            folded = [one.name for one in self.relation.columns if one.name.lower() == path[0].lower()]
            if folded:
                raise Unmeasurable(f"column '{path[0]}' could be any of {', '.join(folded)} in {self.relation.shown}")
            if path == MESSAGE_TIME:
                raise NotApplicable("only messages that are read from a broker have a time of arrival")
            names = [one.name for one in self.relation.columns if not one.hidden]
            hint = meant(path[0], names)
            raise Unmeasurable(f"column '{path[0]}' does not exist in {self.relation.shown}{hint}")
        return column

    def _field_type(self, column: FoundColumn, path: FieldPath) -> str:
        native_type = field_type(column.native_type, path[1:], self.dialect)
        if native_type is None:
            raise Unmeasurable(f"column '{column.name}' ({column.native_type}) has no field {field_text(path)}")
        return native_type

    def _category(self, native_type: str, category: str) -> Category:
        return category if category != "unknown" else category_of(native_type, self.dialect)  # type: ignore[return-value]

    # ------------------------------------------------------------------ metrics

    def violations(self, path: FieldPath, condition: Condition) -> exp.Expr:
        """The aggregate that counts the values at `path` that break `condition`."""
        return count_if(self.offends(path, condition))

    def offends(self, path: FieldPath, condition: Condition) -> exp.Expr:
        """The row predicate that is true where the value at `path` breaks `condition`."""
        return self.breaks(condition, self.value(path))

    def value_count(self, path: FieldPath) -> exp.Expr:
        """The aggregate that counts the values at `path`, NULL ones included."""
        self.value(path)
        return exp.Count(this=exp.Star())

    def unparsed(self, path: FieldPath) -> exp.Expr | None:
        """The aggregate that counts values which are not of their declared type; None where types say it all."""
        column = self.relation.find(path[0])
        declared = self.relation.declared.get(path)
        if column is None or declared is None or any(each in path for each in EACH) or not self.relation.has(path):
            return None
        value = self.value(path)
        if value.format is not None:
            raise NeedsValues(Parsed(value.format))
        if is_open_document(value.native_type, self.dialect):
            return self.unparsed_document(value, declared)
        return None

    def wrong_zone(self, path: FieldPath, cell: exp.Expr) -> exp.Expr:
        """True where a text that is a time states a time zone and must not, or must and does not."""
        zoned = self.relation.zoned.get(path)
        if zoned is None or self.relation.declared.get(path) not in ("timestamp", "time"):
            return NEVER.copy()
        stated = self.regexp(cell.copy(), STATED_OFFSET)
        return exp.not_(stated) if zoned else stated

    def unparsed_document(self, value: Value, declared: Category) -> exp.Expr | None:
        """Counts JSON documents that are not of the declared shape."""
        raise Unmeasurable(f"the shape of {value.native_type} documents cannot be checked on {self.dialect}")

    def aggregate(self, function: str, path: FieldPath) -> exp.Expr:
        """MIN, MAX, AVG or SUM of the values at `path`."""
        kinds = {"min": exp.Min, "max": exp.Max, "avg": exp.Avg, "sum": exp.Sum}
        value = self.value(path)
        if function in ("median", "stddev") and value.category not in ("integer", "number"):
            raise Unmeasurable(f"it needs a number, but the column is {value.native_type or value.category}")
        if value.format is not None and function in ("min", "max"):
            raise NeedsValues(Parsed(value.format))  # texts sort by their letters, not by what they mean
        subject = value.expression.copy()
        if function == "avg" and value.category == "integer" and self.whole_averages:
            subject = exp.cast(subject, "DOUBLE")
        if function in ("median", "stddev"):
            if function == "median" or self.stddev is None:
                raise NeedsValues
            return call(self.stddev, subject)
        return kinds[function](this=subject)

    def key(self, path: FieldPath) -> exp.Expr:
        """The expression that groups equal keys."""
        return self.value(path).expression

    def may_recur(self, fields: tuple[FieldPath, ...], table: exp.Expr) -> exp.Expr | None:
        """A predicate that is false only if no key of the table recurs; None where grouping them is as cheap."""
        return None

    def rare(self, predicate: exp.Expr) -> exp.Expr:
        """A predicate that no index answers and that few rows fulfil, in a form that lets the database expect that."""
        return predicate

    # ------------------------------------------------------------------ conditions

    def breaks(self, condition: Condition, value: Value) -> exp.Expr:
        """The predicate that is true for values that break `condition`.

        Raises `Unmeasurable` when the condition makes no sense for the column's type, `NeedsValues` when
        this engine cannot answer exactly.
        """
        if isinstance(condition, NotNull):
            return value.absent
        if isinstance(condition, Bound):
            if value.format is not None and isinstance(condition.limit, date | time):
                raise NeedsValues(Parsed(value.format, condition))
            return self.out_of_bound(condition, value)
        if isinstance(condition, Parsed):
            if value.category != "string" and value.raw is None:
                kind = value.native_type or value.category
                raise NotApplicable(f"a format is about text, and the column is {kind}")
            raise NeedsValues
        if isinstance(condition, NotFuture | Before):
            return self.future(condition, value)
        if isinstance(condition, FollowedWithin):
            return self.followed_late(condition, value)
        if isinstance(condition, HasKeys):
            return self.lacks_keys(condition.names, value)
        if isinstance(condition, Length):
            return self.wrong_length(condition, value)
        if isinstance(condition, Matches):
            broken = self.mismatch(condition.pattern, value)
            return broken.this if condition.absent else broken
        if isinstance(condition, HasFormat):
            self.as_text(value)
            raise NeedsValues
        if isinstance(condition, OneOf):
            there = is_not_null(value.raw if value.raw is not None else value.expression)
            return exp.and_(there, exp.Not(this=self.among(condition.values, value)))
        if isinstance(condition, NotOneOf):
            listed = self.among(condition.values, value)
            return exp.or_(listed, value.absent) if None in condition.values else listed
        if isinstance(condition, MultipleOf):
            return self.no_multiple(condition.divisor, value)
        if isinstance(condition, Size):
            return self._outside(self.size(value), condition.minimum, condition.maximum)
        if isinstance(condition, UniqueItems):
            return self.repeated_items(value)
        if isinstance(condition, AllOf):
            return exp.or_(*self._each(condition.conditions, value))
        raise Unmeasurable(f"{type(condition).__name__} cannot be checked")

    def _each(self, conditions: tuple[Condition, ...], value: Value) -> list[exp.Expr]:
        """A predicate for each condition; if one needs the values, the values are judged by all of them."""
        predicates: list[exp.Expr] = []
        judged: list[Condition] = []
        for one in conditions:
            try:
                predicates.append(self.breaks(one, value))
                judged.append(one)
            except NeedsValues as needs:
                judged.append(needs.condition or one)
        if len(predicates) < len(conditions):
            raise NeedsValues(AllOf(tuple(judged)))
        return predicates

    def out_of_bound(self, bound: Bound, value: Value) -> exp.Expr:
        """True outside the bound; NaN is outside of every bound that counts it."""
        outside = self.compare(bound, value, self.literal(bound.limit, value, bound.zone))
        if value.category != "number" or not self.may_be_nan(value):
            return outside
        nan = self.is_nan(value.expression)
        return exp.or_(outside, nan) if bound.nan else exp.and_(outside, exp.Not(this=nan))

    def future(self, condition: NotFuture | Before, value: Value) -> exp.Expr:
        """True after the moment of the run, or from an earlier one on; a date is compared as a day."""
        if condition.at is None:
            raise Unmeasurable("the moment of the run is not known")
        if value.format is None and value.category not in ("date", "timestamp"):
            raise Unmeasurable(f"it needs dates or timestamps, but the column is {value.native_type or value.category}")
        limit: Scalar = condition.at
        if isinstance(condition, Before):
            if value.category == "date":
                utc = condition.at.astimezone(UTC)
                limit = utc.date() if utc.time() == time(0) else utc.date() + timedelta(days=1)
            return self.breaks(Bound("<", limit), value)
        if value.category == "date":
            limit = condition.at.astimezone(ZoneInfo(condition.zone)).date()
        return self.breaks(Bound("<=", limit, zone=condition.zone), value)

    def followed_late(self, condition: FollowedWithin, value: Value) -> exp.Expr:
        """True where the other timestamp is later than it may be."""
        other = self.value(condition.field)
        for one in (value, other):
            if one.category != "timestamp":
                raise Unmeasurable(f"it needs timestamps, but the column is {one.native_type or one.category}")
        late = exp.Sub(this=self.microseconds(other.expression), expression=self.microseconds(value.expression))
        return exp.GT(this=late, expression=number(condition.seconds * 1_000_000))

    def microseconds(self, moment: exp.Expr) -> exp.Expr:
        """The microseconds of a timestamp since 1970, with which one with a time zone and one without compare."""
        raise Unmeasurable(f"two timestamps of a row cannot be compared on {self.dialect}")

    def may_be_nan(self, value: Value) -> bool:
        """Whether the column's type has a NaN."""
        return is_float(value.native_type, self.dialect)

    def compare(self, bound: Bound, value: Value, limit: exp.Expr) -> exp.Expr:
        """The negation of the bound's operator, which is NULL for NULL."""
        negated = {">=": exp.LT, ">": exp.LTE, "<=": exp.GT, "<": exp.GTE}[bound.operator]
        return negated(this=value.expression.copy(), expression=limit)

    def is_nan(self, expression: exp.Expr) -> exp.Expr:
        """True where a floating-point value is NaN."""
        return exp.EQ(this=expression.copy(), expression=exp.cast(text("NaN"), "DOUBLE"))

    def wrong_length(self, length: Length, value: Value) -> exp.Expr:
        """True where the number of characters lies outside."""
        return self._outside(exp.Length(this=self.as_text(value)), length.minimum, length.maximum)

    def _outside(self, size: exp.Expr, minimum: int | None, maximum: int | None) -> exp.Expr:
        parts: list[exp.Expr] = []
        if minimum is not None:
            parts.append(exp.LT(this=size.copy(), expression=number(minimum)))
        if maximum is not None:
            parts.append(exp.GT(this=size.copy(), expression=number(maximum)))
        return exp.or_(*parts) if parts else NEVER.copy()

    def mismatch(self, pattern: str, value: Value) -> exp.Not:
        """True where the ECMA-262 pattern is not found."""
        try:
            compile_pattern(pattern)
        except ValueError as error:
            raise Unmeasurable(str(error)) from error
        subject = self.as_text(value)
        compared = to_plain(pattern)
        if compared is not None and compared.where in self.plain_patterns:
            return exp.Not(this=self.plain(compared, self.exact_text(value)))
        translators: dict[str | None, Callable[[str], str | None]] = {
            "re2": to_re2,
            "postgres": to_postgres,
            "java": to_java,
            "ecma": str,
        }
        translate = translators.get(self.regex)
        translated = translate(pattern) if translate is not None else None
        if translated is None:
            raise NeedsValues
        return exp.Not(this=self.regexp(subject, translated))

    def plain(self, compared: Plain, subject: exp.Expr) -> exp.Expr:
        """True where the text is one of those of a pattern without any operator."""
        return exp.In(this=subject, expressions=[self.text_literal(one) for one in compared.texts])

    def regexp(self, subject: exp.Expr, pattern: str) -> exp.Expr:
        """True where the engine finds `pattern`, in the engine's own language, in `subject`."""
        return exp.RegexpLike(this=subject, expression=text(pattern))

    def as_text(self, value: Value) -> exp.Expr:
        """The value as text. Raises `Unmeasurable` for types that are no text."""
        if value.category != "string":
            raise Unmeasurable(f"it needs text, but the column is {value.native_type or value.category}")
        return exp.cast(value.expression.copy(), self.text_type, dialect=self.dialect)

    def exact_text(self, value: Value) -> exp.Expr:
        """The value as text that compares character by character, whatever the collation of its column."""
        if self.collation is None or value.raw is not None:
            return self.as_text(value)
        return exp.Collate(this=self.as_text(value), expression=exp.var(self.collation))

    def among(self, values: tuple[Scalar, ...], value: Value) -> exp.Expr:
        """True where the value equals one of `values`, each taken in the column's type."""
        literals = [literal for one in values if (literal := self.listed(one, value)) is not None]
        if not literals:
            return NEVER.copy()
        subject = self.exact_text(value) if value.category == "string" else value.expression.copy()
        return exp.In(this=subject, expressions=literals)

    def listed(self, one: Scalar, value: Value) -> exp.Expr | None:
        """A listed value as a literal of the column's type; None if no value of that type can equal it."""
        if one is None:
            return None
        if value.category == "string":
            return self.text_literal(plain_text(one))
        if value.category == "boolean" and one in (0, 1):
            one = bool(one)
        try:
            return self.literal(from_text(one, value.category) if isinstance(one, str) else one, value)
        except (Unmeasurable, ValueError, InvalidOperation):
            return None

    def no_multiple(self, divisor: Decimal, value: Value) -> exp.Expr:
        """True where the value is no whole multiple of `divisor`."""
        if value.category not in ("integer", "number"):
            raise Unmeasurable(f"it needs a number, but the column is {value.native_type or value.category}")
        if value.category == "number":
            raise NeedsValues
        if divisor != divisor.to_integral_value():
            raise NeedsValues
        return exp.NEQ(this=exp.Mod(this=value.expression.copy(), expression=number(divisor)), expression=number(0))

    def size(self, value: Value) -> exp.Expr:
        """The number of items or keys."""
        raise Unmeasurable(f"the size of {value.native_type or value.category} cannot be checked on {self.dialect}")

    def lacks_keys(self, names: tuple[str, ...], value: Value) -> exp.Expr:
        """True where an object lacks one of the keys."""
        raise Unmeasurable(f"keys of {value.native_type or value.category} cannot be checked on {self.dialect}")

    def repeated_items(self, value: Value) -> exp.Expr:
        """True where an array holds an item twice."""
        raise Unmeasurable(f"items of arrays cannot be checked on {self.dialect}")

    # ------------------------------------------------------------------ literals

    def literal(self, limit: Scalar, value: Value, zone: str = "UTC") -> exp.Expr:
        """`limit` as a literal that compares with the column in the column's own type.

        Values of a column without a time zone are in `zone`.

        Raises `Unmeasurable` when the two cannot be compared.
        """
        category, kind = value.category, value.native_type or value.category
        if isinstance(limit, bool):
            if category == "boolean":
                return exp.Boolean(this=limit)
        elif isinstance(limit, int | float | Decimal):
            if category in ("integer", "number"):
                return self.number_literal(limit, value)
        elif isinstance(limit, datetime):
            if category == "timestamp":
                return self.timestamp_literal(limit, has_timezone(value.native_type, self.dialect), zone)
            if category == "date" and limit.time() == time(0):
                return self.date_literal(limit.date())
        elif isinstance(limit, date):
            if category == "date":
                return self.date_literal(limit)
            if category == "timestamp":
                midnight = datetime.combine(limit, time(0), ZoneInfo(zone))
                return self.timestamp_literal(midnight, has_timezone(value.native_type, self.dialect), zone)
        elif isinstance(limit, time):
            if category == "time":
                return exp.cast(text(limit.isoformat()), "TIMETZ" if limit.tzinfo else "TIME")
        elif isinstance(limit, str) and category == "string":
            return self.text_literal(limit)
        raise Unmeasurable(f"{plain_text(limit)!r} cannot be compared with a column of type {kind}")

    def text_literal(self, limit: str) -> exp.Expr:
        """A text."""
        return text(limit)

    def number_literal(self, limit: int | float | Decimal, value: Value) -> exp.Expr:
        """A number; beside a single-precision column, the one of single precision that the column would hold."""
        literal = number(limit)
        if is_single(value.native_type, self.dialect) and rounds_to_single(limit):
            return exp.cast(literal, value.native_type, dialect=self.dialect)
        return literal

    def date_literal(self, limit: date) -> exp.Expr:
        """A date literal."""
        return exp.cast(text(limit.isoformat()), "DATE")

    def timestamp_literal(self, limit: datetime, with_timezone: bool, zone: str) -> exp.Expr:
        """A timestamp literal; a limit or column without a time zone is in `zone`."""
        instant = limit.replace(tzinfo=ZoneInfo(zone)) if limit.tzinfo is None else limit
        if with_timezone:
            return exp.cast(text(instant.astimezone(UTC).isoformat(sep=" ")), "TIMESTAMPTZ")
        local = instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        return exp.cast(text(local.isoformat(sep=" ")), "TIMESTAMP")
