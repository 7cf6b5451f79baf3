// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbols/dwarf_lookup.h"

#include <dwarf.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "analyzer/symbols/demangle.h"

namespace gputrace::symbols {
namespace {

std::string FunctionName(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    const char* text = dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
    if (text != nullptr) return Demangle(text);
  }
  const char* text = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
  return text == nullptr ? "" : text;
}

// Where the code of an inlined function was called from.
void ReadCallSite(Dwarf_Die* call, Dwarf_Files* files, SourceFrame* frame) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(call, DW_AT_call_line, &attribute), &value) == 0) {
    frame->line = static_cast<int>(value);
  }
  if (files != nullptr &&
      dwarf_formudata(dwarf_attr(call, DW_AT_call_file, &attribute), &value) == 0) {
    const char* file = dwarf_filesrc(files, value, nullptr, nullptr);
    if (file != nullptr) frame->file = file;
  }
}

}  // namespace

std::unique_ptr<DwarfLookup> DwarfLookup::Open(Elf* elf) {
  Dwarf* dwarf = dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
  if (dwarf == nullptr) return nullptr;
  // Sections may be there and hold nothing.
  Dwarf_CU* first = nullptr;
  if (dwarf_get_units(dwarf, nullptr, &first, nullptr, nullptr, nullptr, nullptr) != 0) {
    dwarf_end(dwarf);
    return nullptr;
  }
  return std::unique_ptr<DwarfLookup>(new DwarfLookup(dwarf));
}

DwarfLookup::~DwarfLookup() { dwarf_end(dwarf_); }

void DwarfLookup::ListRanges() {
  ranges_listed_ = true;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    Dwarf_Addr base = 0;
    Dwarf_Addr start = 0;
    Dwarf_Addr end = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &start, &end)) > 0;) {
      if (start < end) ranges_.push_back({start, end, dwarf_dieoffset(&die)});
    }
  }
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.start < b.start; });
}

bool DwarfLookup::FindUnitDie(uint64_t address, Dwarf_Die* die) {
  if (dwarf_addrdie(dwarf_, address, die) != nullptr) return true;
  if (!ranges_listed_) ListRanges();
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](uint64_t a, const Range& range) { return a < range.start; });
  if (after == ranges_.begin()) return false;
  const Range& range = *std::prev(after);
  return address < range.end && dwarf_offdie(dwarf_, range.unit, die) != nullptr;
}

DwarfLookup::Unit* DwarfLookup::FindUnit(uint64_t address) {
  Dwarf_Die die;
  if (!FindUnitDie(address, &die)) return nullptr;
  const auto [at, added] = units_.try_emplace(dwarf_dieoffset(&die));
  Unit& unit = at->second;
  if (!added) return &unit;
  unit.lines = die;
  unit.functions = die;
  uint8_t type = 0;
  Dwarf_Die split;
  if (dwarf_cu_info(die.cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
      type == DW_UT_skeleton && split.cu != nullptr) {
    unit.functions = split;
  }
  unit.index = FunctionIndex(&unit.functions);
  return &unit;
}

std::vector<SourceFrame> DwarfLookup::Find(uint64_t address) {
  Unit* unit = FindUnit(address);
  if (unit == nullptr) return {};
  SourceFrame place;  // file and line of the frame that comes next, from the inside out
  if (Dwarf_Line* line = dwarf_getsrc_die(&unit->lines, address); line != nullptr) {
    const char* file = dwarf_linesrc(line, nullptr, nullptr);
    if (file != nullptr) place.file = file;
    if (dwarf_lineno(line, &place.line) != 0) place.line = 0;
  }
  std::vector<SourceFrame> frames;
  Dwarf_Die function;
  if (!unit->index.Find(address, &function)) {
    if (place.line != 0) frames.push_back(place);
    return frames;
  }
  std::vector<Dwarf_Die> calls = InlinedCalls(&function, address);
  Dwarf_Files* files = nullptr;
  if (!calls.empty() && dwarf_getsrcfiles(&unit->functions, &files, nullptr) != 0) files = nullptr;
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    place.function = FunctionName(&*call);
    place.inlined = true;
    frames.push_back(place);
    place = {};
    ReadCallSite(&*call, files, &place);
  }
  place.function = FunctionName(&function);
  frames.push_back(place);
  return frames;
}

}  // namespace gputrace::symbols
