"""What a text must not tell and shows by its form alone: secrets, addresses, serial numbers."""

from __future__ import annotations

import ipaddress
import re

SECRET = "(secret)"  # noqa: S105 - what stands in a secret's place
ADDRESS = "(address)"
SERIAL = "(serial number)"

# Secrets that are known by their form.
_KNOWN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"nvapi-[\w-]{16,}|hf_[A-Za-z0-9]{16,}|gh[a-z]_[A-Za-z0-9]{16,}|github_pat_\w{16,}"
    r"|glpat-[\w-]{16,}|sk-[\w-]{20,}|xox[a-z]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}"
    r"|AIza[\w-]{30,}|pypi-[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]+)?)"
)
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{1,60}-----.*?(?:-----END [A-Z0-9 ]{1,60}-----|\Z)", re.S)
_BEARER = re.compile(r"\b(bearer|basic)\s+[\w+/=.-]{8,}", re.IGNORECASE)
_URL_LOGIN = re.compile(r"(\b[A-Za-z][\w+.-]{0,15}://)[^/\s@]{1,500}@")

# A name's last words: AWS_SECRET_ACCESS_KEY, -DSECRET_KEY, authToken; not tokenizers, nor max_tokens.
_WORD = (
    r"(?:token|secret|passw(?:or)?d|passphrase|credentials?"
    r"|(?:api|access|private|secret|license|licence|encryption|signing|auth|master)[_-]?key"
    r"|(?<=[_-])key)(?:[_-][\w-]{0,40})?(?![\w-])"
)
_VALUE = r"(?:\"[^\"\n]{1,2000}\"|'[^'\n]{1,2000}'|[^\s,;&\"']+)"
_NAME = rf"(?<![\w-])(?=[\w-]{{0,80}}?{_WORD})[\w-]{{1,130}}"
_ASSIGNED = re.compile(rf"({_NAME}[\"']?\s{{0,3}}[=:]\s{{0,3}})(?!\s){_VALUE}", re.IGNORECASE)
_OPTION = re.compile(rf"(?<![\w-])(-(?=-?[\w-]{{0,80}}?{_WORD})[\w-]{{1,130}}\s{{1,3}})(?![-\s]){_VALUE}",
                     re.IGNORECASE)  # fmt: skip
_FACT = re.compile(rf"(?:^|.*[_-]){_WORD}$", re.IGNORECASE)

# A key as its digits; in a path it is a checksum that tells nothing.
_HEXADECIMAL = re.compile(r"(?<![\w/\\-])[0-9a-fA-F]{33,}(?![\w/\\-])")

_SERIAL = re.compile(
    r"((?:\b|(?<=_))(?:serial(?:[ _-]?(?:number|num|no\.?))?[\"']?\s{0,3}[:=#]?"
    r"|(?<![A-Za-z])S/?N[\"']?\s{0,3}[:=#]|\bS/N)\s{0,3}[\"']?)"
    r"(?=[A-Z-]*\d)[A-Z0-9][A-Z0-9-]{4,}",
    re.IGNORECASE,
)

_ADAPTER = re.compile(
    r"(?<![\w:])(?:(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}"  # Ethernet
    r"|(?:[0-9A-Fa-f]{4}:){3}[0-9A-Fa-f]{4})(?![\w:])"  # InfiniBand
)
_COLONS = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:])[0-9A-Fa-f:.]{3,45}(?![\w:])")
# Versions have four numbers too: an address is what stands where one stands, or is of a network
# that no version reaches (from 100 on, and the 10s that are no cuRAND's or TensorRT's).
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_QUAD = rf"{_OCTET}(?:\.{_OCTET}){{3}}(?![\w-]|\.\d)"
_PLACE = (
    r"(?:addr|address|addrs|ip|ipv4|inet|host|hostname|peer|node|server|gateway|nameserver|"
    r"client|remote|endpoint|listening on|bound to|connect to|connected to|connecting to|"
    r"connection from|connection to|login from)"
)
_IPV4 = (
    re.compile(rf"(?<=://){_QUAD}|(?<=@){_QUAD}"),
    re.compile(rf"(?<![\w.=-]){_QUAD}(?=:\d|/\d)"),
    re.compile(rf"(?<![\d.])(?<!so\.)(?<![vV-])(?<!==)(?:1\d\d|2[0-4]\d|25[0-5])(?:\.{_OCTET}){{3}}"
               r"(?![\w-]|\.\d)"),
    re.compile(rf"(?<![\w.-])(?<!==)10\.(?:[2-9]\d|1\d\d|2[0-4]\d|25[0-5])(?:\.{_OCTET}){{2}}"
               r"(?![\w-]|\.\d)"),
)  # fmt: skip
_PLACED = re.compile(rf"((?:\b|_){_PLACE}[\"']?(?:\s{{0,3}}[=:]\s{{0,3}}|\s{{1,3}})[\"'(\[]?){_QUAD}",
                     re.IGNORECASE)  # fmt: skip
_NOT_TELLING = frozenset({"0.0.0.0", "127.0.0.1", "255.255.255.255"})  # noqa: S104 - no binding


def secret_fact(name: str) -> bool:
    """Say whether a fact of this name is a secret whatever it holds."""
    return _FACT.match(name[:200]) is not None


def serial_fact(name: str) -> bool:
    """Say whether a fact of this name is a serial number."""
    return re.search(r"(?:^|_)serial(?:_(?:number|no))?$", name[:200], re.IGNORECASE) is not None


def without(text: str) -> str:
    """Return a text with placeholders for secrets, addresses and serial numbers."""
    text = _KNOWN.sub(SECRET, _PEM.sub(SECRET, text))
    text = _BEARER.sub(rf"\1 {SECRET}", text)
    text = _URL_LOGIN.sub(rf"\1{SECRET}@", text)
    text = _ASSIGNED.sub(_assigned, text)
    text = _OPTION.sub(rf"\1{SECRET}", text)
    text = _HEXADECIMAL.sub(SECRET, text)
    return _SERIAL.sub(rf"\1{SERIAL}", _without_addresses(text))


def _assigned(found: re.Match[str]) -> str:
    # "secret: (secret)" stays, "Authorization-Token: Bearer (secret)" keeps its scheme.
    value = found[0][len(found[1]) :]
    return found[0] if value.lower() in ("bearer", "basic") else found[1] + SECRET


def _without_addresses(text: str) -> str:
    text = _ADAPTER.sub(ADDRESS, text)
    text = _COLONS.sub(_ipv6, text)
    for pattern in _IPV4:
        text = pattern.sub(_ipv4, text)
    return _PLACED.sub(_placed, text)


def _ipv4(found: re.Match[str]) -> str:
    return found[0] if found[0] in _NOT_TELLING else ADDRESS


def _placed(found: re.Match[str]) -> str:
    told = found[0][len(found[1]) :] in _NOT_TELLING
    return found[0] if told else found[1] + ADDRESS


def _ipv6(found: re.Match[str]) -> str:
    """Return a placeholder for an address; C++ names, times and PCI addresses are none."""
    text = found[0].rstrip(".")
    groups = [one for one in text.split(":") if one]
    if len(groups) < 2 or not any(char.isdigit() for char in text):
        return found[0]
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return found[0]
    return ADDRESS + found[0][len(text) :]
