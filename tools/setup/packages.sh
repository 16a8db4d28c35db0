# Debian packages: installed into the system as root, otherwise unpacked into a prefix in the cache. Sourced by ./tutti.
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with the other parts

network_down=0
apt_options=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=2
  -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)

# probe_found PROBE: succeeds if the command or file exists.
probe_found() {
  local probe=$1 base
  if [[ $probe != */* ]]; then
    command -v "$probe" >/dev/null
    return
  fi
  for base in /usr /usr/local ${prefix:+"$prefix/usr"}; do
    compgen -G "$base/$probe" >/dev/null && return
  done
  return 1
}

# missing_packages GROUP...: prints the packages of the groups whose probe is not found.
missing_packages() {
  local group package probe
  for group in "$@"; do
    while read -r package probe; do
      probe_found "$probe" || printf '%s\n' "$package"
    done < <(group_items "$group")
  done
}

# Sets as_root to the prefix of commands that need root; fails if there is no way to be root without a password.
find_root() {
  as_root=()
  if ((EUID == 0)); then return 0; fi
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
    return 0
  fi
  return 1
}

apt_install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get "${apt_options[@]}" install -y -q --no-install-recommends "$@"
}

# apt-get update succeeds even when no index could be fetched: only its output tells.
apt_update() {
  local text
  text=$("$@" apt-get "${apt_options[@]}" update -q 2>&1 </dev/null) || network_down=1
  printf '%s\n' "$text" >>"$log"
  if grep -qE '^(Err:|E: |W: Failed to fetch)' <<<"$text" && ! grep -qE '^(Get|Hit):' <<<"$text"; then
    network_down=1
  fi
}

install_with_apt() {
  local -a wanted=("$@")
  local group
  say "these Debian packages will be installed into the system; TUTTI_NO_INSTALL=1 declines: ${wanted[*]}"
  say "refreshing the package index ..."
  apt_update "${as_root[@]}" env
  step "installing ${#wanted[@]} Debian packages" apt_install "${wanted[@]}" && return
  ((network_down)) && return
  # A package that the distribution lacks must not prevent the installation of the other groups.
  for group in "${debian_groups[@]}"; do
    mapfile -t wanted < <(missing_packages "$group")
    ((${#wanted[@]} == 0)) || step "installing the group $group" apt_install "${wanted[@]}" || true
  done
}

have_compiler() { command -v "${CXX:-c++}" >/dev/null || command -v g++ >/dev/null; }

# A compiler does not work from an unpacked prefix (the C library's link scripts name absolute paths), and parts of one
# would hide the system's compiler: these packages are not unpacked, even if another package depends on them.
compiler_packages='^(g[+][+]|gcc|cpp|gfortran|binutils|libbinutils|libc-dev|libc6-dev|linux-libc-dev'
compiler_packages+='|lib(gcc|stdc[+][+]|gfortran)-[0-9]+-dev)'

# Without root: apt, with its state in the cache, resolves and downloads; dpkg unpacks into a prefix.
unpack_packages() {
  local dir
  local -a files wanted
  dir=$cache/debian-$(cat "$pins" /etc/os-release | hash_of)
  if [[ -e $dir/.complete ]]; then
    prefix=$dir/root
    use_prefix
  else
    rm -rf "$dir"
  fi
  mapfile -t wanted < <(missing_packages "${debian_groups[@]}" | grep -vE "$compiler_packages")
  ((${#wanted[@]} == 0)) && return
  mkdir -p "$dir"/{root,state/lists/partial,cache/archives/partial,debs}
  cat >"$dir/apt.conf" <<CONF
Dir::State "$dir/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$dir/cache";
APT::Sandbox::User "";
APT::Get::Install-Recommends "false";
CONF
  say "not root: unpacking Debian packages into $dir/root instead of installing them"
  apt_update env APT_CONFIG="$dir/apt.conf"
  ((network_down)) && return
  step "downloading ${#wanted[@]} Debian packages and their dependencies" download_closure "$dir" "${wanted[@]}" || true
  mapfile -t files < <(compgen -G "$dir/debs/*.deb")
  ((${#files[@]} == 0)) && return
  rm -f "$dir/.complete"
  step "unpacking ${#files[@]} archives" unpack_archives "$dir" "${files[@]}" || return 0
  rm -rf "$dir/debs" "$dir/cache"
  touch "$dir/.complete"
  [[ -n $prefix ]] && return
  prefix=$dir/root
  use_prefix
}

# download_closure DIR PACKAGE...: downloads the packages and all dependencies that the system lacks.
download_closure() {
  local dir=$1 plan
  local -a names
  shift
  plan=$(APT_CONFIG="$dir/apt.conf" apt-get -s -q install "$@") || return
  mapfile -t names < <(
    awk '$1 == "Inst" { match($0, /\([^ ]+/); print $2 "=" substr($0, RSTART + 1, RLENGTH - 1) }' <<<"$plan" |
      grep -vE "$compiler_packages"
  )
  ((${#names[@]} == 0)) && return
  (cd "$dir/debs" && APT_CONFIG="$dir/apt.conf" apt-get "${apt_options[@]}" download -q "${names[@]}")
}

unpack_archives() {
  local dir=$1 file
  shift
  for file in "$@"; do dpkg -x "$file" "$dir/root" || return; done
}

# Puts the unpacked prefix on every search path that the build and the run use.
use_prefix() {
  [[ -n $prefix ]] || return 0
  local triplet
  triplet=$(basename "$(compgen -G "$prefix/usr/lib/*-linux-gnu*" | head -n1)")
  export PATH=$PATH:$prefix/usr/bin
  export CMAKE_PREFIX_PATH=$prefix/usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
  export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$prefix/usr/lib/$triplet:$prefix/lib/$triplet
  if [[ $(command -v mpirun.openmpi) == "$prefix"/* ]]; then
    # Open MPI and PMIx look for plug-ins in the paths they were built for. Plug-ins for absent fabrics fail to load.
    export OPAL_PREFIX=$prefix/usr PMIX_INSTALL_PREFIX=$prefix/usr/lib/$triplet/pmix2
    export OMPI_MCA_mca_base_component_show_load_errors=0 PMIX_MCA_pcompress_base_silence_warning=1
  fi
}

# Installs the missing packages of debian_groups; report_losses names those that could not be installed.
get_packages() {
  local -a wanted
  mapfile -t wanted < <(missing_packages "${debian_groups[@]}")
  ((${#wanted[@]} == 0)) && return
  if ((declined)); then
    say "not installed, as TUTTI_NO_INSTALL=$declined asks: Debian packages ${wanted[*]}"
  elif ! command -v apt-get >/dev/null; then
    say "this system has no apt-get; install these packages yourself (Debian names): ${wanted[*]}"
  elif find_root; then
    install_with_apt "${wanted[@]}"
  elif have_compiler; then
    unpack_packages
  fi
  hash -r
}
