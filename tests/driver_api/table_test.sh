#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The table against the real headers: as committed it agrees, and derives again to the same bytes;
# with a row taken out or changed, or with meanings for an entry that is gone, the check fails and
# says why.
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"

entries=$ROOT/driver_api/entries.tsv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pins=$("$ROOT/driver_api/pinned_headers")
mapfile -t headers <<<"$pins"

check() { "$VENV/bin/python" -B "$ROOT/tests/driver_api/check_headers.py" "$@"; }

# must_say TEXT ENTRIES: the check of ENTRIES against the newest headers fails with TEXT.
must_say() {
  local said
  if said=$(check --entries "$2" "${headers[0]}" 2>&1); then
    die "the check passed, but should have said: $1"
  fi
  grep -qF "$1" <<<"$said" || die "the check said '$said', but should have said: $1"
}

check "${headers[@]}"

# Rows' first and last versions need all pinned headers.
if [[ ${#headers[@]} -eq $((1 + ${#CUDA_HEADERS_CHECKED[@]})) ]]; then
  "$VENV/bin/python" -B "$ROOT/driver_api/derive.py" --out "$work/derived.tsv" "${headers[@]}"
  diff "$entries" "$work/derived.tsv" || die "driver_api/entries.tsv is not what the headers say"
fi

grep -v $'^cuLaunchKernel\t' "$entries" >"$work/entries.tsv"
must_say "cuLaunchKernel is not in the table" "$work/entries.tsv"

sed $'s/^\\(cuMemFree_v2\t.*\\)CUdeviceptr|/\\1unsigned int|/' "$entries" >"$work/entries.tsv"
must_say "cuMemFree_v2 takes (CUdeviceptr), in the table (unsigned int)" "$work/entries.tsv"

sed $'s/^\\(cuMemAlloc_v2\t.*\\)\t3020\t/\\1\t2000\t/' "$entries" >"$work/entries.tsv"
must_say "cuMemAlloc_v2 has version 3020, in the table 2000" "$work/entries.tsv"

grep -v $'^cuMemFree_v2\t' "$entries" >"$work/entries.tsv"
must_say "[cuMemFree_v2] is not an entry of the driver" "$work/entries.tsv"

awk -F'\t' -v OFS='\t' '{ print } $1 == "cuInit" { $1 = $2 = "cuInitAgain"; print }' "$entries" \
  >"$work/entries.tsv"
must_say "cuInitAgain is in the table, but not in the headers" "$work/entries.tsv"
