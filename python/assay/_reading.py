"""JSON objects into dataclasses and back, by their annotations."""

from __future__ import annotations

import dataclasses
import functools
import typing
from typing import Any, ClassVar, TypeVar

_Read = TypeVar("_Read", bound="JsonObject")


@functools.cache
def _members(kind: Any) -> dict[str, tuple[str, Any, bool]]:
    """Key in JSON -> field, the class of what it holds (None: as it is), and whether it holds a list of them."""
    hints = typing.get_type_hints(kind)
    members = {}
    for one in dataclasses.fields(kind):
        held = hints[one.name]
        is_list = typing.get_origin(held) is list
        choices = typing.get_args(held) or (held,)
        classes = [choice for choice in choices if dataclasses.is_dataclass(choice)]
        members[one.name.rstrip("_")] = (one.name, classes[0] if classes else None, is_list)
    members.pop("extra", None)
    return members


def _read(value: Any, held: Any, is_list: bool) -> Any:
    if held is None or value is None:
        return value
    return [held.from_json(one) for one in value] if is_list else held.from_json(value)


def _written(value: Any) -> Any:
    if isinstance(value, JsonObject):
        return value.to_json()
    return [_written(one) for one in value] if isinstance(value, list) else value


class JsonObject:
    """A dataclass that JSON is read into: unknown members stand in `extra`, absent ones have their default."""

    optional: ClassVar[frozenset[str]] = frozenset()
    """Members that are left out where there is nothing to say."""
    extra: dict[str, Any]

    @classmethod
    def from_json(cls: type[_Read], json: dict[str, Any]) -> _Read:
        kind: Any = cls  # As a key of a cache, which a class is.
        members = _members(kind)
        known = {}
        extra = {}
        for key, value in json.items():
            if key not in members:
                extra[key] = value
                continue
            name, held, is_list = members[key]
            if value is None and is_list:
                continue
            known[name] = _read(value, held, is_list)
        known["extra"] = extra
        return cls(**known)

    def to_json(self) -> dict[str, Any]:
        """The same members under the same names; absent ones are None."""
        kind: Any = type(self)
        json = {key: _written(getattr(self, name)) for key, (name, _, _) in _members(kind).items()}
        return {key: one for key, one in json.items() if one is not None or key not in self.optional} | self.extra
