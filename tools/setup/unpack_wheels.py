"""unpack_wheels.py WHEELS PREFIX: unpacks every wheel of a folder into one prefix, its data folder merged into it."""

import pathlib
import sys
import zipfile


def place_of(member):
    """Where a member belongs below the prefix, or None for the wheel's own records."""
    parts = pathlib.PurePosixPath(member).parts
    if ".." in parts or parts[0] == "/":
        raise SystemExit(f"unpack_wheels: {member}: leaves the folder")
    if parts[0].endswith(".dist-info"):
        return None
    if parts[0].endswith(".data") and len(parts) > 2:
        return pathlib.Path(*parts[2:])
    return pathlib.Path(*parts)


def unpack(wheel, prefix):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            place = place_of(member.filename)
            if place is None or member.is_dir():
                continue
            target = prefix / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(member))
            target.chmod(member.external_attr >> 16 & 0o777 or 0o644)


wheels, prefix = map(pathlib.Path, sys.argv[1:])
for wheel in sorted(wheels.glob("*.whl")):
    unpack(wheel, prefix)
