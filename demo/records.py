"""Real data that is on every machine: the packages of the running Python, as JSON lines in the record grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import metadata

_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def canonical(name: str) -> str:
    """Package names as the packaging world compares them."""
    return re.sub(r"[-_.]+", "-", name).lower()


def package_records() -> Iterator[bytes]:
    """One record per package, author, licence, and relation between them."""
    installed = {
        canonical(found.metadata["Name"]): found for found in metadata.distributions() if found.metadata["Name"]
    }
    authors, licences = set[str](), set[str]()
    for name, found in sorted(installed.items()):
        yield _line({"type": "Package", "data": _package(name, found)})
        author, licence = _author(found), _licence(found)
        if author and author not in authors:
            authors.add(author)
            yield _line({"type": "Author", "data": {"name": author}})
        if licence and licence not in licences:
            licences.add(licence)
            yield _line({"type": "Licence", "data": {"name": licence}})
        if author:
            yield _line({"edge": "WrittenBy", "from": name, "to": author})
        if licence:
            yield _line({"edge": "LicensedAs", "from": name, "to": licence})
        for needed, requirement in sorted(_needs(found).items()):
            if needed in installed and needed != name:
                data = {"requirement": requirement}
                yield _line({"edge": "DependsOn", "from": name, "to": needed, "data": data})


def _package(name: str, found: metadata.Distribution) -> dict[str, object]:
    topics = [text.split(" :: ")[-1] for text in found.metadata.get_all("Classifier") or [] if text.startswith("Topic")]
    return {
        "name": name,
        "version": found.version,
        "summary": (found.metadata["Summary"] or "").strip() or None,
        "size": sum(file.size or 0 for file in found.files or []),
        "tags": sorted(set(topics)),
    }


def _author(found: metadata.Distribution) -> str | None:
    text = found.metadata["Author"] or found.metadata["Author-email"] or found.metadata["Maintainer"] or ""
    return text.split("<")[0].strip(' ",')[:80] or None


def _licence(found: metadata.Distribution) -> str | None:
    text = found.metadata["License-Expression"] or found.metadata["License"] or ""
    return text.strip().splitlines()[0][:60] if text.strip() else None


def _needs(found: metadata.Distribution) -> dict[str, str]:
    """Requirements without extras, by canonical name."""
    needs: dict[str, str] = {}
    for text in found.requires or []:
        match = _REQUIREMENT.match(text)
        if match is not None and "extra ==" not in text:
            needs.setdefault(canonical(match.group(1)), text)
    return needs


def _line(record: dict[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"
