"""Unpacks the source archive of a Python package: fetch_source.py NAME==VERSION sha256:HASH FOLDER

The first folder of the archive is left out. An archive with another hash is refused.
"""
import hashlib
import io
import os
import re
import ssl
import sys
import tarfile
import urllib.parse
import urllib.request


def read(address):
    context = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    with urllib.request.urlopen(address, timeout=60, context=context) as answer:
        return answer.read()


def main():
    name, version = sys.argv[1].split("==")
    wanted, folder = sys.argv[2], sys.argv[3]
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + f"/{name}/"
    file = re.escape(f"{name}-{version}.tar.gz")
    link = re.search(rf'href="([^"#]*/{file})[#"]', read(index).decode())
    if link is None:
        sys.exit(f"{index} has no {name}-{version}.tar.gz")
    archive = read(urllib.parse.urljoin(index, link[1]))
    found = "sha256:" + hashlib.sha256(archive).hexdigest()
    if found != wanted:
        sys.exit(f"{link[1]} has the hash {found}, not {wanted or 'one that is pinned'}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files.getmembers():
            first, _, rest = member.name.partition("/")
            path = os.path.normpath(os.path.join(folder, rest))
            if rest and member.isfile() and path.startswith(os.path.normpath(folder) + os.sep):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as target:
                    target.write(files.extractfile(member).read())


if __name__ == "__main__":
    main()
