# SPDX-License-Identifier: Apache-2.0
# What all scripts share: where things are, how to speak. Sourced.
# shellcheck shell=bash disable=SC2034

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CACHE=${GPUTRACE_CACHE:-${HOME:-/root}/.cache/gputrace}
VENV=$CACHE/venv
# shellcheck source=third_party/pins.sh
source "$ROOT/third_party/pins.sh"

# Checkouts in different folders share what was compiled.
export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1

say() { printf '%s\n' "$*" >&2; }
die() {
  say "error: $*"
  exit 2
}

# usage TEXT ARGS…: prints TEXT and ends if the arguments ask for help.
usage() {
  local text=$1 argument
  shift
  for argument in "$@"; do
    case $argument in
      -h | --help)
        printf '%s\n' "$text"
        exit 0
        ;;
    esac
  done
}

# Where the headers of PACKAGE==VERSION are: a folder with cuda.h. Fetches them if need be.
headers_of() {
  local package=${1%%==*} version=${1##*==} folder found
  folder=$CACHE/headers/$package-$version
  if [[ ! -d $folder ]]; then
    local temporary
    temporary=$(mktemp -d)
    "$VENV/bin/pip" download --quiet --no-deps --only-binary=:all: -d "$temporary" "$1" >&2 ||
      die "cannot fetch $1 from the Python package index"
    mkdir -p "$folder.new"
    python3 -m zipfile -e "$temporary"/*.whl "$folder.new"
    rm -rf "$temporary"
    mv "$folder.new" "$folder"
  fi
  found=$(find "$folder" -name cuda.h -path '*include*' | head -n 1)
  [[ -n $found ]] || die "$1 has no cuda.h"
  dirname "$found"
}
