"""`slaProperties` of ODCS → the cadence of a contract, age limits on its data, and what is only shown."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from contract_checks.dialects.odcs_document import SlaProperty
from contract_checks.dialects.odcs_notes import Clauses, Notes, Path, did_you_mean, text_of
from contract_checks.dialects.odcs_references import Table, find_element, find_table
from contract_checks.dialects.times import (
    clock_of,
    cron_of,
    datetime_of,
    duration_of,
    looks_like_cron,
    unit_of,
)
from contract_checks.metrics import EACH, Aggregate, FieldPath, Today, field_text
from contract_checks.model import (
    AgeLimit,
    Cadence,
    DateLimit,
    Documented,
    Duration,
    Expectation,
    NotChecked,
    Severity,
)

_NAMES = {
    **dict.fromkeys(("frequency", "fy"), "frequency"),
    **dict.fromkeys(("latency", "ly"), "latency"),
    "freshness": "freshness",
    **dict.fromkeys(("retention", "re"), "retention"),
    "timeofavailability": "timeOfAvailability",
    **dict.fromkeys(("generalavailability", "ga"), "generalAvailability"),
    **dict.fromkeys(("endofsupport", "es"), "endOfSupport"),
    **dict.fromkeys(("endoflife", "el"), "endOfLife"),
    **dict.fromkeys(("availability", "av"), "availability"),
    **dict.fromkeys(("throughput", "th"), "throughput"),
    **dict.fromkeys(("errorrate", "er"), "errorRate"),
    **dict.fromkeys(("timetodetect", "td"), "timeToDetect"),
    **dict.fromkeys(("timetonotify", "tn"), "timeToNotify"),
    **dict.fromkeys(("timetorepair", "tr"), "timeToRepair"),
}
_DATES = {"generalAvailability": "General availability", "endOfSupport": "End of support", "endOfLife": "End of life"}
_DAYS: dict[str, tuple[str, Severity, bool]] = {
    "generalAvailability": ("is available from", "warning", True),
    "endOfSupport": ("is supported until", "warning", False),
    "endOfLife": ("is there until", "error", False),
}
_REASONS = {
    "availability": "availability is a share of time the source is reachable; a monitor sees it, a check does not",
    "throughput": "throughput is a rate over time; a monitor sees it, a check does not",
    "errorRate": "an error rate needs a rule that says what an error is; state it under 'quality'",
    "timeToDetect": "it concerns how incidents are handled, not the data",
    "timeToNotify": "it concerns how incidents are handled, not the data",
    "timeToRepair": "it concerns how incidents are handled, not the data",
}

TableKey = tuple[str, str]
"""The name and physical name of an object of the schema."""


@dataclass(frozen=True)
class Sla:
    """What `slaProperties` come down to. `expectations` holds those of each object."""

    cadence: Cadence | None = None
    expectations: dict[TableKey, tuple[Expectation, ...]] = field(default_factory=dict)
    documented: tuple[Documented, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()


def read_sla(
    entries: list[Any] | None,
    default_element: str | None,
    tables: tuple[Table, ...],
    notes: Notes,
    virtual: frozenset[tuple[TableKey, FieldPath]] = frozenset(),
) -> Sla:
    """Read every entry of `slaProperties`; `virtual` are the measures, which hold no data."""
    reader = _Reader(default_element, tables, notes, virtual)
    for index, entry in enumerate(entries or []):
        path = ("slaProperties", index)
        piece = notes.piece(SlaProperty, entry, *path)
        if piece is not None:
            reader.read(piece, path)
    return reader.result()


class _Reader:
    """Reads the entries one after the other; the time of availability waits for the frequency."""

    def __init__(
        self,
        default_element: str | None,
        tables: tuple[Table, ...],
        notes: Notes,
        virtual: frozenset[tuple[TableKey, FieldPath]],
    ) -> None:
        self.default_element = default_element
        self.tables = tables
        self.notes = notes
        self.virtual = virtual
        self.clauses = Clauses(notes)
        self.expectations: dict[TableKey, list[Expectation]] = defaultdict(list)
        self.cadence: Cadence | None = None
        self.clock: tuple[str, str | None] | None = None
        self.clock_path: Path = ()
        self.clock_piece = SlaProperty()

    def read(self, piece: SlaProperty, path: Path) -> None:
        said = piece.property or ""
        if not said:
            self.notes.tolerate("an SLA without 'property'", *path, hint="such as 'frequency' or 'latency'")
            self._skip("it does not say which property is promised", path)
            return
        name = _NAMES.get(re.sub(r"[\s_-]", "", said.lower()))
        if piece.value in (None, ""):
            self.notes.tolerate(f"'{said}' has no value", *path, hint="state 'value'")
            self._skip(f"'{said}' has no value", path)
        elif name is None:
            hint = did_you_mean(said, dict.fromkeys(_NAMES.values()))
            self.notes.advise(f"'{said}' is no SLA property the standard names", *path, "property", hint=hint)
            self._skip(f"'{said}' is not known here: {self._said(piece)}", path)
        elif name == "frequency":
            self._frequency(piece, path)
        elif name == "timeOfAvailability":
            self._time_of_availability(piece, path)
        elif name in ("latency", "freshness"):
            self._age(name, "max", piece, path)
        elif name == "retention":
            self._age(name, "min", piece, path)
        elif name in _DATES:
            self._date(name, piece, path)
        else:
            self._skip(f"{_REASONS[name]}: {self._said(piece)}", path)
        checked = any(one.location == self.notes.at(*path) for made in self.expectations.values() for one in made)
        for title, key, value in (
            ("Description", "description", None if checked else piece.description),
            ("Driver", "driver", None if checked else piece.driver),
            ("Second value", "valueExt", piece.value_ext),
            ("Custom properties", "customProperties", piece.custom_properties),
            ("Definitions", "authoritativeDefinitions", piece.authoritative_definitions),
        ):
            self.clauses.show(title, value, *path, key)

    def result(self) -> Sla:
        cadence = self.cadence
        if self.clock is not None:
            if cadence is None:
                # A time of day without a frequency is one of every day.
                cadence = Cadence(every=Duration(1, "day"))
                self.notes.advise(
                    "a time of availability without a 'frequency' is read as one of every day",
                    *self.clock_path,
                    hint="state 'property: frequency' with 'value: 1' and 'unit: d'",
                )
            if cadence.cron is not None:
                self._skip("the frequency is a cron, which states its own time", self.clock_path)
            else:
                cadence = replace(cadence, time_of_day=self.clock[0], timezone=self.clock[1] or cadence.timezone)
                zone = f" ({self.clock[1]})" if self.clock[1] else ""
                self.clauses.show("Time of availability", self.clock[0] + zone, *self.clock_path)
                self._deadline(cadence)
        return Sla(
            cadence,
            {key: tuple(made) for key, made in self.expectations.items()},
            tuple(self.clauses.documented),
            tuple(self.clauses.not_checked),
        )

    # ------------------------------------------------------------------ the properties

    def _frequency(self, piece: SlaProperty, path: Path) -> None:
        text = text_of(piece.value)
        made: Cadence | None = None
        if looks_like_cron(text):
            cron, wrong = cron_of(text)
            if wrong:
                self._wrong(wrong, path)
                return
            made = Cadence(cron=cron)
        else:
            duration = self._duration(piece, path)
            if duration is None:
                return
            made = Cadence(every=duration)
        if self.cadence is not None and made != self.cadence:
            self._skip("the contract states another frequency before; a contract has one schedule", path)
            return
        self.cadence = self.cadence or made
        said = f"every {made.every}" if made.every else f"by the cron {made.cron}"
        self.clauses.show("Refresh", f"{said}, for {piece.element}" if piece.element else said, *path)
        self._schedule(piece, path)

    def _time_of_availability(self, piece: SlaProperty, path: Path) -> None:
        clock = clock_of(text_of(piece.value))
        if clock is None:
            self._wrong(f"'{text_of(piece.value)}' is no time of day", path, "such as '09:00-08:00'")
        elif self.clock is not None:
            self._skip("the contract states another time of availability before", path)
        else:
            self.clock, self.clock_path, self.clock_piece = clock, path, piece

    def _deadline(self, cadence: Cadence) -> None:
        """Measure the time of availability by its element, else by those whose latency is promised."""
        assert cadence.every is not None
        limit = AgeLimit(cadence.every, cadence.timezone, cadence.time_of_day)
        said = self.clock_piece.element or self.default_element
        elements = [part.strip() for part in said.split(",")] if said else []
        found = [one for one in (find_element(self.tables, element) for element in elements) if one is not None]
        fields = [((table.name, table.physical_name), field_path) for table, field_path in found] or [
            (key, one.field)
            for key, made in self.expectations.items()
            for one in made
            if not said and isinstance(one.metric, Aggregate) and one.metric.function == "max" and one.field
        ]
        usable = [
            (key, field_path)
            for key, field_path in dict.fromkeys(fields)
            if not any(each in field_path for each in EACH) and (key, field_path) not in self.virtual
        ]
        if not usable:
            reason = f"'{said}' holds no time" if said else "no element and no latency names the column of the time"
            self._skip(f"whether the data is there by {limit.by} is not measured: {reason}", self.clock_path)
        for key, field_path in usable:
            self.expectations[key].append(
                Expectation(
                    rule="timeOfAvailability",
                    metric=Aggregate("max", field_path),
                    requirement=limit,
                    location=self.notes.at(*self.clock_path),
                    section="sla",
                    field=field_path,
                    id=self.clock_piece.id,
                    description=self.clock_piece.description or f"The data is there by {limit.by}.",
                )
            )

    def _age(self, name: str, function: Literal["min", "max"], piece: SlaProperty, path: Path) -> None:
        limit = self._duration(piece, path)
        if limit is None:
            return
        said = piece.element or self.default_element
        if not said:
            hint = "'element: object.property' names the column that holds the time"
            self.notes.advise(f"'{name}' names no element, so there is no column to ask", *path, hint=hint)
            self._skip(f"'{name}' names no element, so there is no column to ask: {self._said(piece)}", path)
            return
        schedule = self._schedule(piece, path)
        key = "element" if piece.element else "property"
        for element in (part.strip() for part in said.split(",")):
            found = find_element(self.tables, element)
            if found is None:
                self.notes.advise(
                    f"'{element}' is no property of this contract", *path, key, hint="such as 'orders.created_at'"
                )
                self._skip(f"'{element}' is no property of this contract", path)
                continue
            table, field_path = found
            table_key = (table.name, table.physical_name)
            if any(each in field_path for each in EACH) or (table_key, field_path) in self.virtual:
                self._skip(f"'{element}' holds no single time in each row", path)
                continue
            age = "newest" if function == "max" else "oldest"
            sentence = f"The {age} `{field_text(field_path)}` is at most {limit} old."
            notes = tuple(f"{title}: {text}." for title, text in (("Driver", piece.driver),) if text)
            self.expectations[table_key].append(
                Expectation(
                    rule=name,
                    metric=Aggregate(function, field_path),
                    requirement=AgeLimit(limit),
                    location=self.notes.at(*path),
                    section="sla",
                    field=field_path,
                    id=piece.id,
                    description=piece.description or sentence,
                    schedule=schedule,
                    notes=notes,
                )
            )

    def _date(self, name: str, piece: SlaProperty, path: Path) -> None:
        """A day of the data's life: a check of each object concerned, which are all if none is named."""
        text = text_of(piece.value)
        moment = datetime_of(text)
        if moment is None:
            self._wrong(f"'{text}' is no date", path, "such as '2026-12-31'")
            return
        self.clauses.show(_DATES[name], text, *path)
        tables = self._tables(piece, path)
        title, severity, not_before = _DAYS[name]
        for table in tables:
            self.expectations[table.name, table.physical_name].append(
                Expectation(
                    rule=name,
                    metric=Today(),
                    requirement=DateLimit(moment, not_before),
                    location=self.notes.at(*path),
                    section="sla",
                    severity=severity,
                    id=piece.id,
                    description=piece.description or f"The data {title} {text}.",
                    schedule=self._schedule(piece, path),
                )
            )

    def _tables(self, piece: SlaProperty, path: Path) -> tuple[Table, ...]:
        """The objects that an entry is about."""
        if not piece.element:
            return self.tables
        found = []
        for element in (part.strip() for part in piece.element.split(",")):
            named = find_table(self.tables, element)
            inside = find_element(self.tables, element)
            if named is None and inside is None:
                self.notes.advise(f"'{element}' is nothing of this contract", *path, "element", hint="such as 'orders'")
                self._skip(f"'{element}' is no object or property of this contract", path)
            else:
                found.append(named or inside[0])  # type: ignore[index]
        return tuple(dict.fromkeys(found))

    # ------------------------------------------------------------------ their parts

    def _duration(self, piece: SlaProperty, path: Path) -> Duration | None:
        text, unit = text_of(piece.value), piece.unit
        if isinstance(piece.value, bool) or not isinstance(piece.value, str | int | Decimal):
            self._wrong(f"'{text}' is no duration", path, "such as 'value: 4' with 'unit: h'")
            return None
        if unit is not None and unit_of(unit) is None:
            self._wrong(f"'{unit}' is no unit of time", path, "such as 'd', 'h', 'min' or 'y'", key="unit")
            return None
        duration = duration_of(text, unit)
        if duration is None:
            hint = "such as 'value: 4' with 'unit: h', or 'PT4H'"
            self._wrong(f"'{text}{f' {unit}' if unit else ''}' is no duration", path, hint)
            return None
        if (unit or "").strip().lower() == "m" or re.fullmatch(r"[\d.]+\s*m", text.strip().lower()):
            self.notes.advise("the unit 'm' is read as minutes", *path, "unit", hint="say 'min' or 'mo'")
        return duration

    def _schedule(self, piece: SlaProperty, path: Path) -> str | None:
        if not piece.schedule:
            return None
        if piece.scheduler and piece.scheduler.strip().lower() != "cron":
            self.clauses.show("Scheduler", f"{piece.scheduler} {piece.schedule}", *path, "schedule")
            return None
        cron, wrong = cron_of(piece.schedule)
        if wrong:
            self.notes.advise(f"the SLA has no schedule of its own: {wrong}", *path, "schedule")
            self.clauses.skip(f"the schedule is not used: {wrong}", *path, "schedule", section="sla")
            return None
        return cron

    def _wrong(self, message: str, path: Path, hint: str = "", key: str = "value") -> None:
        self.notes.advise(message, *path, key, hint=hint)
        self._skip(message, path)

    def _skip(self, reason: str, path: Path) -> None:
        self.clauses.skip(reason, *path, section="sla")

    @staticmethod
    def _said(piece: SlaProperty) -> str:
        parts = (piece.property, piece.value, piece.unit, piece.element, piece.schedule)
        return " ".join(text_of(part) for part in parts if part not in (None, ""))
