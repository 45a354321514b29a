"""Names as Dagster accepts them.

Contracts name things freely; Dagster does not. Each function here turns text of a contract into a name
of one kind, the same text always into the same name.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from dagster import AssetKey

CHECK_NAME = re.compile(r"[A-Za-z0-9_]+")
# As narrow as Dagster's own idea of an address, which refuses long top-level domains.
_EMAIL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,7}")
_TAG_LENGTH = 63


def short_hash(text: str) -> str:
    """Six hexadecimal digits that stand for `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _slug(text: str, allowed: str) -> str:
    """`text` with runs of other characters than `allowed` as one `_`; a hash where nothing would be left."""
    cut = re.sub(rf"[^{allowed}]+", "_", _ascii(text)).strip("_")
    return cut or f"x_{short_hash(text)}"


def asset_key(parts: Iterable[str]) -> AssetKey:
    """The asset key of a dataset's key. Case is kept; what is neither letter, digit, `_` nor `-` becomes `_`."""
    return AssetKey([_slug(part, "A-Za-z0-9_-") for part in parts])


def group_name(text: str) -> str:
    """A group: letters, digits and `_`, in lower case."""
    return _slug(text, "A-Za-z0-9_").lower()


def tag_key(text: str) -> str:
    """The key of a tag: letters, digits, `_`, `.` and `-`, 63 at most, without a namespace of its own."""
    slug = _slug(text, "A-Za-z0-9_.-")
    return slug if len(slug) <= _TAG_LENGTH else f"{slug[: _TAG_LENGTH - 7]}_{short_hash(text)}"


def tag_value(text: str) -> str:
    """The value of a tag, by the rules of its key; empty text stays empty."""
    return tag_key(text) if text else ""


def owner(name: str, kind: str, address: str) -> str | None:
    """An owner as Dagster takes one (an email address or `team:…`), or None if this one cannot be said so."""
    for candidate in (address.strip(), name.strip()):
        if _EMAIL.fullmatch(candidate):
            return candidate
    return f"team:{name.strip()}" if kind == "team" and name.strip() else None


def owner_as_known(name: str, kind: str, email_domain: str | None, strip_domain: bool) -> tuple[str, str]:
    """The name and kind of an owner as the identities of a platform are spelled.

    A URN of DataHub is its name. With `email_domain` a bare name of a user becomes an email address, with
    `strip_domain` an address becomes the name before its `@`.
    """
    urn = re.fullmatch(r"urn:li:(corpuser|corpGroup):(.+)", name.strip())
    if urn:
        name, kind = urn[2], "team" if urn[1] == "corpGroup" else "user"
    if kind == "user" and strip_domain:
        return name.partition("@")[0], kind
    if kind == "user" and email_domain and "@" not in name and re.fullmatch(r"[\w.+-]+", name.strip()):
        return f"{name.strip()}@{email_domain.lstrip('@')}", kind
    return name, kind


def identifier(key: AssetKey) -> str:
    """The key as one word: what Dagster joins with `_` and a check's name to name the output of a step."""
    return key.to_python_identifier()


def op_names(prefix: str, keys: Iterable[AssetKey]) -> dict[AssetKey, str]:
    """A name for the op of each key: `contract__warehouse__orders`, with a hash where two would be one."""
    names: dict[AssetKey, str] = {}
    taken: set[str] = set()
    for key in keys:
        name = f"{prefix}__{identifier(key)}"
        names[key] = name if name not in taken else f"{name}_{short_hash(key.to_user_string())}"
        taken.add(names[key])
    return names
