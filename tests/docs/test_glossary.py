"""Plain English: the phrases that the glossary rules out occur neither in the manual nor in what the program says."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from docs.manual import PAGES, text_of
from docs.sources import messages

GLOSSARY = "docs/glossary.md"
_TICKED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Rule:
    """A phrase that we do not write, and the longer phrases in which it is fine."""

    phrase: str
    exceptions: tuple[str, ...]

    def offends(self, text: str) -> bool:
        plain = " ".join(text.split())
        for exception in self.exceptions:
            plain = re.sub(pattern_of(exception), "", plain)
        return re.search(pattern_of(self.phrase), plain) is not None


def pattern_of(phrase: str) -> str:
    """Whole words, also at the start of a sentence; `…` stands for one to four words, at the end for any."""
    words, is_open = phrase.removesuffix(" …"), phrase.endswith(" …")
    inner = re.escape(words).replace(r"\ …\ ", r" (?:\S+ ){1,4}")
    return rf"\b(?:{inner}|{inner[0].upper()}{inner[1:]})" + (" " if is_open else r"(?!\w)")


def rules() -> list[Rule]:
    table = text_of(GLOSSARY).split("## The words we do not use")[1]
    rows = re.findall(r"^\| (`.+?) \| .*? \|(.*)\|$", table, re.MULTILINE)
    return [Rule(phrase, tuple(_TICKED.findall(fine))) for phrases, fine in rows for phrase in _TICKED.findall(phrases)]


RULES = rules()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.phrase)
def test_no_page_has_a_phrase_that_the_glossary_rules_out(rule: Rule) -> None:
    offenders = []
    for page in PAGES:
        text = text_of(page).split("## The words we do not use")[0] if page == GLOSSARY else text_of(page)
        paragraphs = re.split(r"\n(?=\n|[-|#])", text)
        offenders += [f"{page}: {paragraph.strip()[:200]}" for paragraph in paragraphs if rule.offends(paragraph)]
    assert offenders == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.phrase)
def test_no_message_has_a_phrase_that_the_glossary_rules_out(rule: Rule) -> None:
    assert [f"{said.place}: {said.text}" for said in messages() if rule.offends(said.text)] == []


def test_the_glossary_has_its_rules_and_its_words() -> None:
    assert len(RULES) >= 10
    assert [rule.phrase for rule in RULES if rule.offends("a plain sentence with a hint")] == []
    assert Rule("is no …", ("there is no",)).offends("'x' is no number")
    assert not Rule("is no …", ("there is no",)).offends("there is no number")


def test_every_word_of_the_glossary_is_listed_once_and_in_order() -> None:
    words = re.findall(r"^\| ([\w ]+) \| ", text_of(GLOSSARY).split("## The words we do not use")[0], re.MULTILINE)[1:]
    assert words == sorted(set(words), key=str.lower)
