# Python wheels, each group into a folder of its own in the cache. Sourced by ./tutti.
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with the other parts

# make_venv DIR: creates a virtual environment with pip, even if Debian's python3 lacks ensurepip.
make_venv() {
  local dir=$1 wheel
  python3 -m venv "$dir" && return
  rm -rf "$dir"
  python3 -m venv --without-pip "$dir" || return
  wheel=$(compgen -G "${prefix:-}/usr/share/python-wheels/pip-*.whl" ||
    compgen -G '/usr/share/python-wheels/pip-*.whl') || return
  # Python can import from a wheel, which is a zip file: pip runs from its own wheel and installs itself.
  PYTHONPATH=$wheel "$dir/bin/python3" -m pip install -q --no-index --find-links "$(dirname "$wheel")" pip
}

# Debian's pip uses the system's certificate bundle, which an unpacked prefix lacks: make it from the certificates.
use_certificates() {
  [[ -n $prefix && -z ${PIP_CERT:-} && ! -e /etc/ssl/certs/ca-certificates.crt ]] || return 0
  cat "$prefix"/usr/share/ca-certificates/mozilla/*.crt >"$cache/certificates.crt" 2>/dev/null || return 0
  export PIP_CERT=$cache/certificates.crt
}

# requirements ITEM...: prints the pinned wheels with their hashes, as pip reads them.
requirements() {
  local item
  for item in "$@"; do
    if [[ $item == -* || $item == @(source|size):* ]]; then continue; fi
    printf '%s' "$item"
    sed -e 's/[[:space:]]*#.*//' "$hashes" | awk -v item="$item" '$1 == item { printf " --hash=%s", $2 }'
    printf '\n'
  done
}

# fetch_source DIR ITEM: unpacks the source archive of the item source:NAME==VERSION into DIR/source. Not by pip, which would
# install what the archive needs to be built.
fetch_source() {
  local dir=$1 item=$2 hash
  hash=$(sed -e 's/[[:space:]]*#.*//' "$hashes" | awk -v item="$item" '$1 == item { print $2 }')
  mkdir -p "$dir/source"
  "$dir/bin/python3" "$root/tools/setup/fetch_source.py" "${item#source:}" "$hash" "$dir/source"
}

# install_wheels DIR ITEM...: an item is a pinned wheel, a source archive or an option of pip. A file with another hash is
# not installed.
install_wheels() {
  local dir=$1 item
  local -a options=()
  shift
  rm -rf "$dir"
  use_certificates
  make_venv "$dir" || return
  for item in "$@"; do if [[ $item == -* ]]; then options+=("$item"); fi; done
  requirements "$@" >"$dir/requirements.txt"
  if [[ -s $dir/requirements.txt ]]; then
    "$dir/bin/python3" -m pip install -q --disable-pip-version-check --no-input --retries 1 --require-hashes \
      "${options[@]}" -r "$dir/requirements.txt" || return
  fi
  for item in "$@"; do
    if [[ $item == source:* ]]; then fetch_source "$dir" "$item" || return; fi
  done
  touch "$dir/.complete"
}

# wheels_folder GROUP ITEM...: prints the folder of the group, whose name changes with its pins.
wheels_folder() {
  local group=$1
  shift
  printf '%s' "$cache/$group-$({ printf '%s\n' "$@" "$(uname -m)" | sed '/^size:/d'; requirements "$@"; } | hash_of)"
}

# announce_size GROUP ITEM...: says how much the group takes, if it is so large that it has a size; fails if the cache has no
# room. The archives and the unpacked files are there at the same time, the former in TMPDIR.
announce_size() {
  local group=$1 item download unpacked free
  shift
  for item in "$@"; do
    [[ $item == size:* ]] || continue
    item=${item#size:}
    download=${item%+*} unpacked=${item#*+}
    say "$group: $download GB will be downloaded, and take $unpacked GB in $cache; TUTTI_NO_INSTALL=1 declines"
    free=$(df -Pk "$cache" | awk 'NR == 2 { printf "%.1f", $4 / 1e6 * 1.024 }')
    if awk -v free="$free" -v wanted="$download" -v more="$unpacked" 'BEGIN { exit free >= wanted + more }'; then
      say "not installed: $cache has only $free GB free; make room, or set XDG_CACHE_HOME to a folder of another disk"
      return 1
    fi
  done
}

# get_wheels GROUP: installs the group and sets wheel_roots[GROUP] to its folder; empty on failure.
get_wheels() {
  local group=$1 dir
  local -a items
  wheel_roots["$group"]=
  mapfile -t items < <(group_items "$group")
  dir=$(wheels_folder "$group" "${items[@]}")
  if [[ ! -e $dir/.complete ]]; then
    if ((declined)); then
      say "not installed, as TUTTI_NO_INSTALL=$declined asks: Python wheels ${items[*]}"
      return 0
    fi
    command -v python3 >/dev/null || return 0
    announce_size "$group" "${items[@]}" || return 0
    step "installing $group (${items[*]})" install_wheels "$dir" "${items[@]}" || { rm -rf "$dir"; return 0; }
  fi
  wheel_roots["$group"]=$dir
}
