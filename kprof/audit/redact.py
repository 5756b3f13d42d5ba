"""Takes out of a snapshot what tells who and where: it gets pasted into public bug reports.

Names of users and of the host, home directories, UUIDs, serial and network numbers and anything
that looks like a secret make way for placeholders. Paths stay paths, equal things stay equal, and
what the audit reads (versions, GPU names, error texts) stays as it is.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SECRET = "(secret)"  # noqa: S105 - what stands in a secret's place

# Names that say nothing about anybody, and whose replacement would break paths and texts.
_WORDS = (
    "admin administrator apps apptainer azureuser bin boot centos cluster compute conda "
    "container cuda data debian dev docker ec2-user envs etc fedora gpu guest home host include "
    "jovyan kernel kprof kubernetes lib lib64 linux local localdomain localhost login mambauser "
    "media mnt model ncu nobody node none nvcc nvidia opc opt podman proc projects public "
    "python root run runner runsc sandbox sbin server service share shared site-packages slurm "
    "software src srv sys system test tmp tools torch triton ubuntu user users usr var venv "
    "vscode work worker workspace workstation"
)
_ORDINARY = frozenset(_WORDS.split())

# Facts whose words are a vocabulary of NVIDIA's: a host called A100 must not rename the GPUs.
_VOCABULARY = frozenset({"name", "lspci_gpus", "arch_list", "chips", "compute_capability"})

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)

# Secrets that are known by their form.
_KNOWN_SECRET = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"nvapi-[\w-]{16,}|hf_[A-Za-z0-9]{16,}|gh[a-z]_[A-Za-z0-9]{16,}|github_pat_\w{16,}"
    r"|glpat-[\w-]{16,}|sk-[\w-]{20,}|xox[a-z]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}"
    r"|AIza[\w-]{30,}|pypi-[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]+)?)"
)
_ASSIGNED = re.compile(
    r"\b(\w*(?:token|secret|passw(?:or)?d|api[_-]?key|credentials?))(\s*[=:]\s*)(?!\s)[^\s,;&]+",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(bearer|basic)\s+[\w+/=.-]{8,}", re.IGNORECASE)
_URL_LOGIN = re.compile(r"(\b[A-Za-z][\w+.-]{0,15}://)[^/\s@]{1,500}@")

_AT_HOST = re.compile(r"(?<![\w/.])[\w.+-]{1,64}@[A-Za-z][A-Za-z0-9.-]*(?![\w@])")
_NETWORK = re.compile(
    r"\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b"  # of an adapter
    r"|(?<=://)\d{1,3}(?:\.\d{1,3}){3}|(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?=:\d)"
)
_SERIAL = re.compile(
    r"\b(serial(?:[ _-]?(?:number|no\.?))?\s*[:=#]?\s*)(?=[A-Z-]*\d)[A-Z0-9][A-Z0-9-]{4,}",
    re.IGNORECASE,
)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
# CUDA_VISIBLE_DEVICES takes the beginning of one too.
_SHORT_UUID = re.compile(r"\b(GPU-|MIG-)([0-9a-f]{4,8}(?:-[0-9a-f]{0,4}){0,3})(?![\w-])", re.I)

# The folder of somebody's home; a name with blanks only where the path goes on after it.
_HOMES = re.compile(r"(?<=[/\\])(home\d*|Users)([/\\])((?:[^/\\\s:;,\"']+ ){0,3}[^/\\\s:;,\"']+)")

_PLACEHOLDER = re.compile(r"user\d*")
_MIXED = re.compile(r"[A-Za-z0-9+]{24,}")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{32,}")


def redact(
    facts: Mapping[str, Any], environ: Mapping[str, str], host: str | None = None
) -> dict[str, Any]:
    """Return a snapshot's facts without what tells who and where.

    Args:
        facts: as the probes returned them.
        environ: the environment that names the user and the home directory.
        host: this machine's name; None asks the system.
    """
    return Redactor.of(facts, environ, host).facts(facts)


@dataclass(frozen=True, slots=True)
class Redactor:
    """What one machine's snapshot must not tell, and what stands in its place."""

    names: tuple[tuple[re.Pattern[str], str], ...]
    homes: tuple[re.Pattern[str], ...]
    owners: dict[str, str]
    uuids: dict[str, str]

    @classmethod
    def of(
        cls, facts: Mapping[str, Any], environ: Mapping[str, str], host: str | None = None
    ) -> Redactor:
        """Learn the names and identifiers of a machine; see :func:`redact`."""
        texts = tuple(_texts(facts))
        found = (one[0].lower() for text in texts for one in _UUID.finditer(text))
        uuids = {one: _placeholder(i) for i, one in enumerate(dict.fromkeys(found), 1)}
        users = dict.fromkeys(_users(environ), "user")
        owners = {**_owners(texts, users), **users}
        hosts = _hosts(environ, socket.gethostname() if host is None else host)
        names = {**owners, **dict.fromkeys(hosts, "host")}
        patterns = (
            (_word(name), word) for name, word in names.items() if name.lower() not in _ORDINARY
        )
        return cls(tuple(patterns), _homes(environ), owners, uuids)

    def facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return a snapshot's facts as they may be shown to anybody."""
        return {key: self.value(value, str(key)) for key, value in facts.items()}

    def value(self, value: Any, key: str, *, env: bool = False) -> Any:
        """Return a fact of the name ``key``; ``env`` is for what an environment variable holds."""
        if isinstance(value, Mapping):
            inside = env or key == "env"
            return {
                self.key(str(name)): self.value(entry, str(name), env=inside)
                for name, entry in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.value(entry, key, env=env) for entry in value]
        if not isinstance(value, str):
            return value
        if env:
            return SECRET if _SECRET_NAME.search(key) else self.text(_without_random(value))
        return self.text(value, names=key not in _VOCABULARY)

    def key(self, key: str) -> str:
        """Return the name of a fact."""
        # Facts' own names stay; those that are paths (``files``) hold what paths hold.
        return self.text(key) if "/" in key or "\\" in key else key

    def text(self, text: str, *, names: bool = True) -> str:
        """Return a text; ``names`` says whether those of users and the host are looked for."""
        text = _KNOWN_SECRET.sub(SECRET, text)
        text = _ASSIGNED.sub(rf"\1\2{SECRET}", text)
        text = _BEARER.sub(rf"\1 {SECRET}", text)
        text = _URL_LOGIN.sub(rf"\1{SECRET}@", text)
        text = _AT_HOST.sub("user@host", text)
        for home in self.homes:
            text = home.sub("~", text)
        text = _HOMES.sub(self._home, text)
        text = _UUID.sub(lambda found: self.uuids.get(found[0].lower(), _placeholder(0)), text)
        text = _SHORT_UUID.sub(self._short_uuid, text)
        text = _SERIAL.sub(r"\1(serial number)", text)
        text = _NETWORK.sub("(address)", text)
        for pattern, word in self.names if names else ():
            text = pattern.sub(word, text)
        return text

    def _home(self, found: re.Match[str]) -> str:
        name, rest = _owner(found)
        return f"{found[1]}{found[2]}{self.owners.get(name, name)}{rest}"

    def _short_uuid(self, found: re.Match[str]) -> str:
        start = found[2].lower()
        whole = next((word for one, word in self.uuids.items() if one.startswith(start)), None)
        return found[1] + (whole or _placeholder(0))


def _owner(found: re.Match[str]) -> tuple[str, str]:
    """Return whose home it is, and what the pattern took of the sentence behind the path."""
    name = found[3]
    if found.string[found.end() : found.end() + 1] in ("/", "\\"):
        return name, ""
    name, blank, rest = name.partition(" ")
    return name, blank + rest


def _owners(texts: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    names = dict.fromkeys(_owner(one)[0] for text in texts for one in _HOMES.finditer(text))
    others = [
        name
        for name in names
        if name not in known and name.lower() not in _ORDINARY and not _PLACEHOLDER.fullmatch(name)
    ]
    return {name: f"user{number}" for number, name in enumerate(others, 2)}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            yield str(name)
            yield from _texts(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _texts(entry)


def _placeholder(number: int) -> str:
    # Of a UUID's form, so that what compares and shortens them still works.
    return f"00000000-0000-0000-0000-{number:012d}"


def _users(environ: Mapping[str, str]) -> list[str]:
    names = [environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")]
    found = _HOMES.search(environ.get("HOME", ""))
    names = [name for name in (*names, found[3] if found else "") if name]
    return list(dict.fromkeys(names or _of_system()))


def _of_system() -> list[str]:
    # Asked last: the user database can be a directory service that takes its time.
    try:
        import pwd

        return [pwd.getpwuid(os.geteuid()).pw_name]
    except (ImportError, KeyError, OSError):
        return []


def _hosts(environ: Mapping[str, str], host: str) -> list[str]:
    names = [host, *(environ.get(name, "") for name in ("HOSTNAME", "HOST", "SLURMD_NODENAME"))]
    parts = [part for name in names for part in (name, *_short_and_domain(name)) if part]
    return sorted(dict.fromkeys(parts), key=len, reverse=True)


def _short_and_domain(name: str) -> tuple[str, ...]:
    short, _, domain = name.partition(".")
    return (short, domain) if "." in domain else (short,)


def _homes(environ: Mapping[str, str]) -> tuple[re.Pattern[str], ...]:
    home = environ.get("HOME", "").rstrip("/")
    if not home.startswith("/"):
        return ()
    places = sorted({home, os.path.realpath(home)}, key=len, reverse=True)
    return tuple(re.compile(rf"(?<![\w.~/-]){re.escape(place)}(?![\w.-])") for place in places)


def _word(name: str) -> re.Pattern[str]:
    if len(name) < 3 or name.isdecimal():  # as a part of a path alone
        return re.compile(rf"(?<=/){re.escape(name)}(?=[/:]|$)")
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])")


def _without_random(value: str) -> str:
    """Return a variable's value without what looks drawn at random; hashes in paths stay."""
    if "/" not in value:
        value = _HEXADECIMAL.sub(SECRET, value)
    return _MIXED.sub(lambda found: SECRET if _random(found[0]) else found[0], value)


def _random(text: str) -> bool:
    kinds = (str.isupper, str.islower, str.isdigit)
    return all(sum(map(kind, text)) >= 2 for kind in kinds)
