"""A byte-level mutator: what disks, networks, spreadsheets and enemies do to files."""

from __future__ import annotations

import random

TOKENS = (
    *(b'"', b"'", b",", b";", b"\n", b"\r", b"\r\n", b"\x00", b"\t", b" ", b"\xef\xbb\xbf"),
    *(b"nan", b"NA", b"null", b"inf", b"-inf", b"-0", b"1e400", b"1e-400", b"1e308", b"0x10"),
    *(b"9223372036854775808", b"99999999999999999999999", b"18446744073709551615", b"-1", b"2"),
    *(b"True", b"{", b"}", b"[", b"]", b"[[[[", b"\\", b"|", b"*", b"{a|b}", b"[1-2]"),
    *(
        b"=1+1",
        b"@SUM(A1)",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"\xc3\x28",
        b"\xe2\x80\xae",
        b"\x1f\x8b",
    ),
    *(b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff\xff\xff\xff\xff", b"\xff" * 9 + b"\x01", b"PAR1"),
    *(b"__reduce__", b"(lp0\n.", b"cos\nsystem\n", b"1" * 5000, b"A" * 140_000),
)


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The content after one to four small accidents."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        chance.choice(ACCIDENTS)(changed, chance)
    return bytes(changed)


def _place(content: bytearray, chance: random.Random) -> int:
    return chance.randrange(len(content) + 1)


def _part(content: bytearray, chance: random.Random) -> slice:
    begin = _place(content, chance)
    return slice(begin, begin + chance.choice((1, 2, 8, 40, len(content))))


def flip(content: bytearray, chance: random.Random) -> None:
    if content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def overwrite(content: bytearray, chance: random.Random) -> None:
    if content:
        content[chance.randrange(len(content))] = chance.choice(
            (0, 255, 127, chance.randrange(256))
        )


def digit(content: bytearray, chance: random.Random) -> None:
    """Another digit for a digit: numbers that are wrong, but well-formed."""
    places = [i for i, byte in enumerate(content) if 48 <= byte <= 57]
    if places:
        content[chance.choice(places)] = chance.randrange(48, 58)


def insert(content: bytearray, chance: random.Random) -> None:
    place = _place(content, chance)
    content[place:place] = chance.choice(TOKENS)


def replace(content: bytearray, chance: random.Random) -> None:
    """A token in the place of a number, a word or whatever stands there."""
    begin = end = _place(content, chance)
    while end < len(content) and end - begin < 30 and chr(content[end]).isalnum():
        end += 1
    content[begin:end] = chance.choice(TOKENS)


def delete(content: bytearray, chance: random.Random) -> None:
    del content[_part(content, chance)]


def repeat(content: bytearray, chance: random.Random) -> None:
    part = content[_part(content, chance)]
    place = _place(content, chance)
    content[place:place] = part * chance.choice((1, 2, 10))


def cut_short(content: bytearray, chance: random.Random) -> None:
    del content[_place(content, chance) :]


def noise(content: bytearray, chance: random.Random) -> None:
    place = _place(content, chance)
    content[place : place + 16] = chance.randbytes(16)


ACCIDENTS = (flip, overwrite, digit, digit, insert, replace, delete, repeat, cut_short, noise)
