# SPDX-License-Identifier: Apache-2.0
# Builds the libraries that are linked into libgputrace.so: static, position independent, with hidden
# symbols and no need of a new glibc. From Debian's source packages, into the cache. Sourced.
# shellcheck shell=bash

# Fetches and unpacks Debian's source package $1 into the empty folder $2. The package lists are the
# machine's own with their deb-src side switched on, kept apart from the system's.
fetch_source() {
  local package=$1 folder=$2 lists source
  lists=$(mktemp -d)
  mkdir -p "$lists/sources.d" "$lists/state/partial" "$lists/cache/archives/partial"
  for source in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -f $source ]] && sed -n 's/^deb /deb-src /p' "$source" >"$lists/sources.d/$(basename "$source")"
  done
  for source in /etc/apt/sources.list.d/*.sources; do
    [[ -f $source ]] && grep -q 'debian' "$source" &&
      sed 's/^Types:.*/Types: deb-src/' "$source" >"$lists/sources.d/$(basename "$source")"
  done
  local options=(-qq -o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$lists/sources.d"
    -o "Dir::State::lists=$lists/state" -o "Dir::Cache=$lists/cache" -o APT::Sandbox::User=root)
  (cd "$folder" && apt-get "${options[@]}" update >&2 &&
    apt-get "${options[@]}" source --download-only "$package" >&2 &&
    dpkg-source --no-check -x ./*.dsc source >&2)
  rm -rf "$lists"
}

# Name of the folder in the cache that holds $1 built by the recipe as it stands.
built_folder() {
  local recipe
  recipe=$(cat "${BASH_SOURCE[0]}" "$ROOT/cmake/glibc_compat.h" | sha256sum | cut -c1-12)
  printf '%s/third_party/%s-%s\n' "$CACHE" "$1" "$recipe"
}

compile_flags() {
  printf '%s' "-O2 -g -fPIC -fvisibility=hidden -fno-omit-frame-pointer -ftls-model=initial-exec \
-include $ROOT/cmake/glibc_compat.h"
}

build_libunwind() {
  local out=$1 work=$2
  (cd "$work/source" && [[ -x configure ]] || (cd "$work/source" && autoreconf -i)) >&2
  mkdir "$work/build"
  (cd "$work/build" && CFLAGS="$(compile_flags) -fcommon" ../source/configure --quiet \
    --disable-shared --enable-static --with-pic --disable-tests --disable-documentation \
    --disable-coredump --disable-ptrace --disable-setjmp --disable-minidebuginfo \
    --disable-zlibdebuginfo --disable-cxx-exceptions --disable-debug-frame --prefix="$out" &&
    make -j"$(nproc)" --quiet && make --quiet install) >&2
}

build_zstd() {
  local out=$1 work=$2
  # Visibility flags alone leave its public functions exported.
  (cd "$work/source/lib" && make -j"$(nproc)" --quiet libzstd.a CFLAGS="$(compile_flags) \
    -DZSTDLIB_VISIBLE= -DZSTDERRORLIB_VISIBLE= -DZDICTLIB_VISIBLE= -DZSTDLIB_HIDDEN= \
    -DZSTD_TRACE=0 -DZSTD_LEGACY_SUPPORT=0" ZSTD_LIB_DICTBUILDER=0 ZSTD_LIB_DEPRECATED=0) >&2
  mkdir -p "$out/lib" "$out/include"
  cp "$work/source/lib/libzstd.a" "$out/lib/"
  cp "$work/source/lib/zstd.h" "$work/source/lib/zstd_errors.h" "$out/include/"
}

# build_once NAME SOURCE_PACKAGE FUNCTION: builds unless the cache has it; sets the link NAME.
build_once() {
  local name=$1 package=$2 build=$3 out work
  out=$(built_folder "$name")
  if [[ ! -f $out/done ]]; then
    say "building $name (once; kept in $CACHE)"
    work=$(mktemp -d)
    rm -rf "$out"
    mkdir -p "$out"
    if ! { fetch_source "$package" "$work" && "$build" "$out" "$work"; } 2>"$out/log"; then
      tail -n 20 "$out/log" >&2
      die "building $name failed; its log is $out/log"
    fi
    touch "$out/done"
    rm -rf "$work"
  fi
  ln -sfn "$out" "$CACHE/third_party/$name"
}
