# Python wheels, each group into a folder of its own in the cache. Sourced by ./tutti.
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with the other parts

# make_venv DIR: an environment with pip, also where Debian's python3 comes without ensurepip.
make_venv() {
  local dir=$1 wheel
  python3 -m venv "$dir" && return
  rm -rf "$dir"
  python3 -m venv --without-pip "$dir" || return
  wheel=$(compgen -G "${prefix:-}/usr/share/python-wheels/pip-*.whl" ||
    compgen -G '/usr/share/python-wheels/pip-*.whl') || return
  # A wheel is a zip that Python can import from: pip runs out of it and installs itself.
  PYTHONPATH=$wheel "$dir/bin/python3" -m pip install -q --no-index --find-links "$(dirname "$wheel")" pip
}

# Debian's pip trusts the system's certificates, which an unpacked prefix has only in parts.
use_certificates() {
  [[ -n $prefix && -z ${PIP_CERT:-} && ! -e /etc/ssl/certs/ca-certificates.crt ]] || return 0
  cat "$prefix"/usr/share/ca-certificates/mozilla/*.crt >"$cache/certificates.crt" 2>/dev/null || return 0
  export PIP_CERT=$cache/certificates.crt
}

install_wheels() {
  local dir=$1
  shift
  rm -rf "$dir"
  use_certificates
  make_venv "$dir" || return
  "$dir/bin/python3" -m pip install -q --disable-pip-version-check --no-input --retries 1 "$@" || return
  touch "$dir/.complete"
}

# get_wheels GROUP: sets wheel_roots[GROUP] to the folder of the group, empty if it could not be got.
get_wheels() {
  local group=$1 dir
  local -a items
  wheel_roots["$group"]=
  mapfile -t items < <(group_items "$group")
  dir=$cache/$group-$(printf '%s\n' "${items[@]}" "$(uname -m)" | hash_of)
  if [[ ! -e $dir/.complete ]]; then
    command -v python3 >/dev/null || return 0
    step "getting $group (${items[*]})" install_wheels "$dir" "${items[@]}" || { rm -rf "$dir"; return 0; }
  fi
  wheel_roots["$group"]=$dir
}
