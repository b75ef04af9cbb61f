#!/usr/bin/env python3
"""Prints the answers that the workloads must find, computed by other programs than the guests use."""
import hashlib, pathlib, re, zlib

source = pathlib.Path(__file__).with_name("text.rs").read_text()
WORDS = re.findall(r'"([a-z]+)"', source.split("WORDS: [&str; 64]")[1].split("];")[0])
assert len(WORDS) == 64
M = (1 << 64) - 1


def word(r):
    return WORDS[((r & 63) * (r >> 8 & 63)) >> 6]


def text(seed, size):
    x, out, length = seed, [], 0
    while length < size:
        x ^= x >> 12
        x ^= x << 25 & M
        x ^= x >> 27
        r = x * 0x2545F4914F6CDD1D & M
        kind = r >> 60
        t = str(r & 0xFFFF) if kind == 0 else f"{word(r)}@{word(r >> 16)}.org" if kind == 1 else word(r)
        t += {0: ".\n", 1: ", "}.get(r >> 20 & 15, " ")
        out.append(t)
        length += len(t)
    return "".join(out)[:size].encode()


print("compress: Adler-32", f"{zlib.adler32(text(1, 1 << 20)):08x}")
t = text(2, 1 << 20)
print("hash: SHA-256 ", hashlib.sha256(t).hexdigest())
print("hash: SHA3-256", hashlib.sha3_256(t).hexdigest())
t = text(3, 1 << 20)
for pattern in (rb"[a-z]+@(?:storage|channel)\.org", rb"(?:sample|counter|code) [a-z]{2,4} (?:block|set|the)", rb"[0-9]{4,5}[,.]"):
    found = [(m.start(), m.end()) for m in re.finditer(pattern, t)]
    print("search:", pattern.decode(), len(found), sum(b - a for a, b in found))
