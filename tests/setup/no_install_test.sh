#!/usr/bin/env bash
# Announcement, refusal and pins of installations, with fake installers: usage: no_install_test.sh SOURCE_FOLDER
set -euo pipefail
source_root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
problems=0

mkdir -p "$work/bin" "$work/build/.setup" "$work/tools/setup"
for program in apt-get python3; do
  printf '#!/bin/sh\necho "%s $*" >>"%s/calls"\n' "$program" "$work" >"$work/bin/$program"
  chmod +x "$work/bin/$program"
done
cat >"$work/tools/setup/dependencies.txt" <<'PINS'
group libraries debian run  everything
libabsent-dev include/absent/absent.h
group wheels wheel run  everything
absent-wheel==1.0
group big-pypi wheel asked  everything
size:2.5+4.5
absent-wheel==1.0
PINS
printf 'absent-wheel==1.0 sha256:%s  # %s\n' 1234 linux_x86_64 5678 linux_aarch64 >"$work/tools/setup/hashes.txt"

# set_up VALUE: sets up with TUTTI_NO_INSTALL=VALUE; prints the messages, and "passed on" if the variable is still set.
set_up() {
  : >"$work/calls"
  (
    export PATH=$work/bin:$PATH
    [[ -z $1 ]] || export TUTTI_NO_INSTALL=$1
    declare -A wheel_roots=()
    root=$work cache=$work
    prefix='' debian_groups=(libraries)
    source "$source_root/tools/setup/common.sh"
    source "$source_root/tools/setup/packages.sh"
    source "$source_root/tools/setup/wheels.sh"
    find_root() { as_root=(); }
    make_venv() { mkdir -p "$1/bin" && cp "$work/bin/python3" "$1/bin/"; }
    get_packages
    get_wheels wheels
    env | grep -q '^TUTTI_NO_INSTALL=' && echo 'passed on'
    true
  ) 2>&1
}

# expect NAME TEXT PATTERN...: every pattern is in the text; after !, none is.
expect() {
  local name=$1 text=$2 found=1 pattern
  shift 2
  for pattern in "$@"; do
    if [[ $pattern == '!' ]]; then
      found=0
    elif [[ $(grep -qF -- "$pattern" <<<"$text" && echo 1 || echo 0) != "$found" ]]; then
      printf 'FAILED %s: "%s" is %s\n%s\n' "$name" "$pattern" "$( ((found)) && echo missing || echo there)" "$text"
      problems=1
    fi
  done
}

text=$(set_up '')
expect 'by default, what is said' "$text" 'will be installed into the system; TUTTI_NO_INSTALL=1 declines: libabsent-dev'
expect 'by default, what is called' "$(cat "$work/calls")" 'install -y -q' 'libabsent-dev' '--require-hashes -r'
expect 'hashes of every platform' "$(cat "$work"/wheels-*/requirements.txt)" \
  'absent-wheel==1.0 --hash=sha256:1234 --hash=sha256:5678'
rm -rf "$work"/wheels-*

text=$(set_up 1)
expect 'declined, what is said' "$text" 'not installed, as TUTTI_NO_INSTALL=1 asks: Debian packages libabsent-dev' \
  'not installed, as TUTTI_NO_INSTALL=1 asks: Python wheels absent-wheel==1.0' '!' 'passed on' 'will be installed'
expect 'declined, what is called' "$(cat "$work/calls")" '!' 'apt-get' 'python3'

expect 'bad value' "$(set_up yes || true)" 'TUTTI_NO_INSTALL=yes is not accepted; accepted: 0, 1'

# ask COMMAND...: runs the commands of ./tutti setup with fake installers; FREE: GB that df shows.
ask() {
  : >"$work/calls"
  (
    export PATH=$work/bin:$PATH HOME=$work/home XDG_CACHE_HOME=
    printf '#!/bin/sh\nprintf "Filesystem 1024-blocks Used Available\\nx 0 0 %s\\n"\n' "$((FREE * 1000000000 / 1024))" \
      >"$work/bin/df"
    chmod +x "$work/bin/df"
    root=$work
    source "$source_root/tools/setup/common.sh"
    source "$source_root/tools/setup/packages.sh"
    source "$source_root/tools/setup/wheels.sh"
    source "$source_root/tools/setup/setup.sh"
    get_packages() { :; }
    have_compiler() { true; }
    cmake_usable() { true; }
    make_venv() { mkdir -p "$1/bin" && cp "$work/bin/python3" "$1/bin/"; }
    "$@"
    printf 'groups: %s; asked: %s\n' "${!wheel_roots[*]}" "${wheel_roots[big-pypi]:-none}"
  ) 2>&1
}
setup() { ask_for "$@" && rm -f "$state_dir"/{run,test} && ensure_setup test && print_table; }
again() { ensure_setup test; }

FREE=100
expect 'a group that was not asked for' "$(ask setup)" 'groups: wheels; asked: none' '!' 'big-pypi' 'GB'
text=$(ask setup big)
expect 'a group that is asked for' "$text" \
  'big-pypi: 2.5 GB will be downloaded, and take 4.5 GB in' 'asked: '"$work/home/.cache/tutti/big-pypi-" 'big-pypi     ready'
[[ $(grep -n 'will be downloaded' <<<"$text" | cut -d: -f1) -lt $(grep -n 'installing big-pypi' <<<"$text" | head -n1 | cut -d: -f1) ]] ||
  { echo "FAILED: the size is said after the download: $text"; problems=1; }
expect 'a later build' "$(ask again)" 'asked: '"$work/home/.cache/tutti/big-pypi-" '!' 'will be downloaded'
sed -i 's/5678/9abc/' "$work/tools/setup/hashes.txt"
expect 'a later build with other pins' "$(ask again)" "'./tutti setup big' gets it again" 'asked: none' '!' 'downloaded'
expect 'no pip for it' "$(cat "$work/calls")" '!' 'big-pypi'
expect 'a group that is asked for no more' "$(ask setup)" 'asked: none' '!' 'big-pypi'
FREE=6
expect 'too little room' "$(ask setup big)" 'not installed: ' 'has only 6.0 GB free' 'asked: none'
expect 'no pip without room' "$(cat "$work/calls")" '!' 'big-pypi'
expect 'an unknown group' "$(ask setup huge || true)" 'setup huge is not accepted; accepted: nothing, or big'
exit "$problems"
