"""The canonical layout, and where comments go."""

from __future__ import annotations

import pytest

from language.query.fuzz_query import PROGRAMS, check_format
from omnigraph.language import CompileError
from omnigraph.language.query import format_query
from omnigraph.language.query.parse.parser import parse

UNTIDY = """// header

// about a
query a($x: String?, $v: Vector(2)) @description("hi") { // open
 match { $p: Person { name: $x, /* in */ age: 1 } // trailing
 $p $w:<knows> $q
 // own
 or { $x is null { $p.age > -1 $p.tags contains "a" } } maybe { $p worksAt{1,} $c } not { $p.name in ["a"] // last
 // end of not
 } search($p.name, "x") = false }
 return distinct { $p.name as n count(distinct $q) as c, $p.* // three
 distance($p knows{1,3} $q) } order { n desc, $p.age } offset 3 limit $n }
query b() { insert Person {name:"x
y" age: -1.50} update Person set { age: 1 } where name is not null }
// tail"""

TIDY = """// header

// about a
query a($x: String?, $v: Vector(2))
    @description("hi")
{  // open
    match {
        /* in */
        $p: Person { name: $x, age: 1 }  // trailing
        $p $w:<knows> $q
        // own
        or {
            $x is null
            {
                $p.age > -1
                $p.tags contains "a"
            }
        }
        maybe {
            $p worksAt{1,} $c
        }
        not {
            $p.name in ["a"]  // last
            // end of not
        }
        search($p.name, "x") = false
    }
    return distinct {
        $p.name as n,
        count(distinct $q) as c,
        $p.*,  // three
        distance($p knows{1,3} $q),
    }
    order { n desc, $p.age }
    limit $n
    offset 3
}

query b() {
    insert Person { name: "x\\ny", age: -1.5 }
    update Person set { age: 1 } where name is not null
}

// tail
"""


def test_untidy_text_gets_the_canonical_layout() -> None:
    assert check_format(UNTIDY) == TIDY


def test_canonical_text_is_left_alone() -> None:
    assert format_query(TIDY) == TIDY


def test_empty_text_stays_empty() -> None:
    assert format_query(" \n") == ""
    assert format_query("// only\n") == "// only\n"


def test_long_return_is_broken_into_lines() -> None:
    items = ", ".join(f"$person.property_number_{n} as alias_{n}" for n in range(4))
    formatted = check_format(f"query q() {{ match {{ $person: P }} return {{ {items} }} }}")
    assert "        $person.property_number_3 as alias_3,\n    }\n" in formatted
    assert max(len(line) for line in formatted.splitlines()) <= 100


def test_text_that_does_not_parse_is_not_formatted() -> None:
    with pytest.raises(CompileError):
        format_query("query q( {")


def parses(text: str) -> bool:
    try:
        parse(text)
    except CompileError:
        return False
    return True


@pytest.mark.parametrize("program", [program for program in PROGRAMS if parses(program)])
def test_formatting_keeps_the_meaning_and_is_idempotent(program: str) -> None:
    check_format(program)
