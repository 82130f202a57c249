# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# What the set-up commands share, to be sourced: finding and installing packages, timed stages, the list of our files.

# Exit codes as those of the program; see README.md.
readonly exit_environment=3
readonly exit_usage=5
readonly exit_internal=6

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cores=$(nproc)
log_dir=$root/build/log
may_install=yes

readonly build_packages=(cmake ninja-build g++ git nlohmann-json3-dev libcli11-dev libgtest-dev libbenchmark-dev)

die() { # die EXIT_CODE MESSAGE
  printf '%s: %s\n' "$(basename "$0")" "$2" >&2
  exit "$1"
}

is_installed() { # is_installed PACKAGE
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Installs the packages that are missing. With nothing missing it asks no network and needs no rights.
require_packages() { # require_packages PACKAGE...
  [[ $may_install == yes ]] || return 0
  local package missing=()
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]} > 0)) || return 0
  install_packages "${missing[@]}"
}

install_packages() { # install_packages PACKAGE...
  local start=$SECONDS distribution log=$log_dir/install.log apt=(apt-get -q -o DPkg::Lock::Timeout=300)
  # shellcheck source=/dev/null
  distribution=$(. /etc/os-release 2>/dev/null && printf '%s %s' "$ID" "${VERSION_ID-}") || distribution='this system'
  case $distribution in
    'debian 12' | 'ubuntu 24.04') ;;
    *) die $exit_environment "on $distribution please install what Debian 12 calls: $* (then use --no-install)" ;;
  esac
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die $exit_environment "not root and no sudo; please have installed: $*"
    if [[ -t 0 ]]; then apt=(sudo "${apt[@]}"); else apt=(sudo -n "${apt[@]}"); fi
  fi
  printf '%-34s' 'install packages'
  mkdir -p "$log_dir"
  if "${apt[@]}" update >"$log" 2>&1 </dev/null &&
    "${apt[@]}" install -y --no-install-recommends "$@" >>"$log" 2>&1 </dev/null; then
    printf 'ok    %4d s  (%s)\n' $((SECONDS - start)) "$*"
    return 0
  fi
  printf 'FAILED\n'
  tail -n 15 "$log" >&2
  die $exit_environment "these packages could not be installed: $*"
}

# Runs a command with its output kept in a log, and prints one line with the seconds; the log's end when it fails.
# The caller reads stage_seconds, stage_log and the exit code.
stage() { # stage NAME COMMAND...
  local name=$1 status=0 start=$SECONDS
  shift
  mkdir -p "$log_dir"
  stage_log=$log_dir/${name//[^a-zA-Z0-9]/-}.log
  printf '%-34s' "$name"
  "$@" >"$stage_log" 2>&1 </dev/null || status=$?
  stage_seconds=$((SECONDS - start))
  if ((status == 0)); then
    printf 'ok    %4d s' "$stage_seconds"
  else
    printf 'FAILED %3d s' "$stage_seconds"
  fi
  return "$status"
}

end_line() { # end_line NOTE: ends the line that stage began; the note may be empty
  printf '%s\n' "${1:+  ($1)}"
}

show_log() { # show_log LINES: the end of the last stage's log
  printf -- '--- end of build/log/%s\n' "$(basename "$stage_log")"
  tail -n "$1" "$stage_log"
  printf -- '---\n'
}

# Without it ccache takes no source that uses precompiled headers.
export CCACHE_SLOPPINESS=pch_defines,time_macros

configure() { # configure PRESET [CMAKE_ARGUMENT...]
  local preset=$1 launcher=()
  shift
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  (cd "$root" && cmake --preset "$preset" "${launcher[@]}" "$@")
}

build() { # build PRESET [TARGET]
  (cd "$root" && cmake --build --preset "$1" -j "$cores" ${2:+--target "$2"})
}

# Our files by pattern, whether committed yet or not, and none that git ignores; outside a checkout what find sees.
our_files() { # our_files PATTERN...
  local file pattern names=()
  if git -C "$root" -c safe.directory="$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git -C "$root" -c safe.directory="$root" ls-files -co --exclude-standard -- "$@" | sort -u |
      while IFS= read -r file; do
        [[ -f $root/$file ]] && printf '%s\n' "$file"
      done
  else
    for pattern in "$@"; do names+=(-o -name "$(basename "$pattern")"); done
    (cd "$root" && find . -name build -prune -o -name .git -prune -o -type f \( "${names[@]:1}" \) -print | sed 's,^\./,,' | sort)
  fi
}
