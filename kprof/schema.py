"""The JSON Schemas of kprof's documents, made from the models' own type hints and docstrings.

Shipped as ``report.schema.json``, ``doctor.schema.json`` and ``bench.schema.json``;
``python -m kprof.schema`` rewrites them after a model changed.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
import typing
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from kprof.bench.result import Bench
from kprof.bench_export import SCHEMA as BENCH
from kprof.doctor_export import SCHEMA as DOCTOR
from kprof.doctor_result import DoctorReport
from kprof.export import SCHEMA as REPORT
from kprof.model import Report

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# The documents by name, each with its model and the file that ships.
DOCUMENTS: dict[str, tuple[type, str]] = {
    REPORT: (Report, "report.schema.json"),
    DOCTOR: (DoctorReport, "doctor.schema.json"),
    BENCH: (Bench, "bench.schema.json"),
}

_SCALARS: dict[object, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},  # whatever was found: the facts of a snapshot
}
_ATTRIBUTE = re.compile(r"^    (\w+): (.+(?:\n        .+)*)", re.MULTILINE)


def generate(document: str = REPORT) -> dict[str, Any]:
    """Return the schema of one of :data:`DOCUMENTS`, from its model as it is.

    Fields that are in the model from the start are required; fields with a default may be
    absent, because the schema only grows and older documents lack what came later. Unknown keys
    are allowed for the same reason.
    """
    definitions: dict[str, Any] = {}
    body = _object(DOCUMENTS[document][0], definitions)
    constants = {"schema": {"const": document}, "kprof_version": {"type": "string"}}
    body["properties"] = constants | body["properties"]
    body["required"] = [*constants, *body["required"]]
    head = {"$schema": DIALECT, "$id": document, "title": document}
    return {**head, **body, "$defs": dict(sorted(definitions.items()))}


def shipped(document: str = REPORT) -> dict[str, Any]:
    """Return the schema file of a document that ships in the package."""
    text = resources.files("kprof").joinpath(DOCUMENTS[document][1]).read_text(encoding="utf-8")
    return typing.cast("dict[str, Any]", json.loads(text))


def rewrite() -> None:
    """Write the schemas beside this module, for whoever changed a model."""
    for document, (_, file) in DOCUMENTS.items():
        text = json.dumps(generate(document), indent=1) + "\n"
        Path(__file__).with_name(file).write_text(text, encoding="utf-8")


def _object(model: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(model)
    described = _described(model)
    properties: dict[str, Any] = {}
    for field in dataclasses.fields(model):
        properties[field.name] = _of(hints[field.name], definitions)
        if field.name in described:
            properties[field.name]["description"] = described[field.name]
    return {
        "type": "object",
        "description": (model.__doc__ or "").split("\n\n")[0],
        "properties": properties,
        "required": [field.name for field in dataclasses.fields(model) if not _optional(field)],
    }


def _optional(field: dataclasses.Field[Any]) -> bool:
    absent = dataclasses.MISSING
    return field.default is not absent or field.default_factory is not absent


def _described(model: type) -> dict[str, str]:
    # Python 3.13 takes the indentation out of docstrings itself, older ones leave it in.
    section = inspect.cleandoc(model.__doc__ or "").partition("Attributes:\n")[2]
    return {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(section)}


def _of(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if hint in _SCALARS:
        return dict(_SCALARS[hint])
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}  # taken, should a model ever hold itself
            definitions[hint.__name__] = _object(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return _either([_of(argument, definitions) for argument in arguments])
    if origin is tuple:
        return _array(arguments, definitions)
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _of(arguments[1], definitions)}
    raise TypeError(f"the model holds a {hint}, which JSON has no form for")


def _either(choices: list[dict[str, Any]]) -> dict[str, Any]:
    if all(list(choice) == ["type"] for choice in choices):
        return {"type": [choice["type"] for choice in choices]}
    return {"anyOf": choices}


def _array(arguments: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    if arguments[-1] is Ellipsis:
        return {"type": "array", "items": _of(arguments[0], definitions)}
    items = [_of(argument, definitions) for argument in arguments]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


if __name__ == "__main__":
    rewrite()
