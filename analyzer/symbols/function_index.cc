// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbols/function_index.h"

#include <dwarf.h>

#include <algorithm>
#include <cstddef>

namespace gputrace::symbols {
namespace {

// Deeper nesting than any compiler makes; damaged files may loop.
constexpr int kMaxDepth = 256;

bool MayHoldFunctions(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_subprogram:  // lambdas, nested functions
    case DW_TAG_lexical_block:
      return true;
    default:
      return false;
  }
}

// Blocks that have no addresses of their own may still hold calls.
bool HoldsOrHidesAddress(Dwarf_Die* die, uint64_t address) {
  if (dwarf_haspc(die, address) == 1) return true;
  return dwarf_tag(die) == DW_TAG_lexical_block && dwarf_hasattr(die, DW_AT_low_pc) == 0 &&
         dwarf_hasattr(die, DW_AT_ranges) == 0;
}

void FindCalls(Dwarf_Die* parent, uint64_t address, int depth, std::vector<Dwarf_Die>* calls) {
  Dwarf_Die child;
  if (depth >= kMaxDepth || dwarf_child(parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    const bool inlined = tag == DW_TAG_inlined_subroutine;
    const bool block =
        tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
    if ((!inlined && !block) || !HoldsOrHidesAddress(&child, address)) continue;
    const size_t before = calls->size();
    if (inlined) calls->push_back(child);
    FindCalls(&child, address, depth + 1, calls);
    if (calls->size() > before) return;
  } while (dwarf_siblingof(&child, &child) == 0);
}

}  // namespace

FunctionIndex::FunctionIndex(Dwarf_Die* unit) {
  Visit(unit, 0);
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  uint64_t last_end = 0;
  for (Entry& entry : entries_) {
    last_end = std::max(last_end, entry.end);
    entry.last_end = last_end;
  }
}

void FunctionIndex::Visit(Dwarf_Die* parent, int depth) {
  Dwarf_Die child;
  if (depth >= kMaxDepth || dwarf_child(parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) {
      Dwarf_Addr base = 0;
      Dwarf_Addr start = 0;
      Dwarf_Addr end = 0;
      for (ptrdiff_t at = 0; (at = dwarf_ranges(&child, at, &base, &start, &end)) > 0;) {
        if (start < end) entries_.push_back({start, end, 0, child});
      }
    }
    if (MayHoldFunctions(tag)) Visit(&child, depth + 1);
  } while (dwarf_siblingof(&child, &child) == 0);
}

bool FunctionIndex::Find(uint64_t address, Dwarf_Die* function) const {
  auto after = std::upper_bound(entries_.begin(), entries_.end(), address,
                                [](uint64_t a, const Entry& entry) { return a < entry.start; });
  // Going back, the first that holds the address starts last: it is the innermost.
  while (after != entries_.begin()) {
    const Entry& entry = *--after;
    if (address < entry.end) {
      *function = entry.die;
      return true;
    }
    if (address >= entry.last_end) return false;
  }
  return false;
}

std::vector<Dwarf_Die> InlinedCalls(Dwarf_Die* function, uint64_t address) {
  std::vector<Dwarf_Die> calls;
  FindCalls(function, address, 0, &calls);
  return calls;
}

}  // namespace gputrace::symbols
