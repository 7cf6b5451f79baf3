// SPDX-License-Identifier: Apache-2.0
#include "interpose/stacks/eh_frame.h"

namespace gputrace::interpose {
namespace {

bool ReadCie(const CodeModule& module, uint64_t at, Cie* cie) {
  if (at < module.data_start || at >= module.data_end) return false;
  Reader size_reader(at, module.data_end);
  const auto length = size_reader.Read<uint32_t>();
  if (!size_reader.ok() || length == 0 || length > module.data_end - size_reader.position()) {
    return false;  // also the 64-bit form, which nobody writes for loaded code
  }
  Reader reader(size_reader.position(), size_reader.position() + length);
  if (reader.Read<uint32_t>() != 0) return false;
  const auto version = reader.Read<uint8_t>();
  if (version != 1 && version != 3 && version != 4) return false;
  char augmentation[8] = {};
  size_t letters = 0;
  for (char letter = reader.Read<char>(); letter != '\0'; letter = reader.Read<char>()) {
    if (letters == sizeof(augmentation) - 1) return false;
    augmentation[letters++] = letter;
  }
  if (version == 4 && (reader.Read<uint8_t>() != 8 || reader.Read<uint8_t>() != 0)) return false;
  cie->code_align = reader.Uleb();
  cie->data_align = reader.Sleb();
  const uint64_t return_column = version == 1 ? reader.Read<uint8_t>() : reader.Uleb();
  if (return_column != kReturnAddress) return false;
  if (augmentation[0] == 'z') {
    cie->has_augmentation_data = true;
    const uint64_t data_size = reader.Uleb();
    const uint64_t data = reader.position();
    for (size_t i = 1; i < letters; ++i) {
      switch (augmentation[i]) {
        case 'R':
          cie->pointer_encoding = reader.Read<uint8_t>();
          break;
        case 'P': {
          const auto encoding = static_cast<uint8_t>(reader.Read<uint8_t>() & 0x7f);
          reader.Pointer(encoding);
          break;
        }
        case 'L':
          reader.Read<uint8_t>();
          break;
        case 'S':
          cie->is_signal = true;
          break;
        default:
          return false;
      }
    }
    if (!reader.ok() || reader.position() > data + data_size) return false;
    reader.Skip(data + data_size - reader.position());
  } else if (letters != 0) {
    return false;
  }
  cie->instructions = reader;
  return reader.ok();
}

bool ReadFde(const CodeModule& module, uint64_t at, Fde* fde) {
  if (at < module.data_start || at >= module.data_end) return false;
  Reader size_reader(at, module.data_end);
  const auto length = size_reader.Read<uint32_t>();
  if (!size_reader.ok() || length == 0 || length > module.data_end - size_reader.position()) {
    return false;
  }
  const uint64_t body = size_reader.position();
  Reader reader(body, body + length);
  const auto distance = reader.Read<uint32_t>();
  if (distance == 0 || !ReadCie(module, body - distance, &fde->cie)) return false;
  fde->start = reader.Pointer(fde->cie.pointer_encoding);
  fde->size = reader.Pointer(fde->cie.pointer_encoding & 0x0f);
  if (fde->cie.has_augmentation_data) reader.Skip(reader.Uleb());
  fde->instructions = reader;
  return reader.ok();
}

FdeSearch FindRecord(const CodeModule& module, uint64_t address, uint64_t* fde) {
  const uint64_t header = module.eh_frame_hdr;
  if (header == 0) return FdeSearch::kAbsent;
  Reader reader(header, module.data_end);
  const auto version = reader.Read<uint8_t>();
  const auto section_encoding = reader.Read<uint8_t>();
  const auto count_encoding = reader.Read<uint8_t>();
  const auto table_encoding = reader.Read<uint8_t>();
  if (!reader.ok() || version != 1 || section_encoding == kOmitted || count_encoding != kUdata4 ||
      table_encoding != (kDataRelative | kSdata4)) {
    return FdeSearch::kDamaged;
  }
  reader.Pointer(section_encoding);
  const auto count = reader.Read<uint32_t>();
  struct Entry {
    int32_t start;
    int32_t fde;
  };
  if (!reader.ok() || count > (module.data_end - reader.position()) / sizeof(Entry) ||
      reader.position() % alignof(Entry) != 0) {
    return FdeSearch::kDamaged;
  }
  const auto* entries = reinterpret_cast<const Entry*>(reader.position());
  const auto wanted = static_cast<int64_t>(address - header);
  uint32_t low = 0;
  uint32_t high = count;  // the first entry that begins after the address
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (entries[middle].start <= wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return FdeSearch::kAbsent;
  *fde = header + static_cast<uint64_t>(int64_t{entries[low - 1].fde});
  return FdeSearch::kFound;
}

}  // namespace

FdeSearch FindFde(const CodeModule& module, uint64_t address, Fde* fde) {
  uint64_t at = 0;
  const FdeSearch search = FindRecord(module, address, &at);
  if (search != FdeSearch::kFound) return search;
  if (!ReadFde(module, at, fde)) return FdeSearch::kDamaged;
  return address - fde->start < fde->size ? FdeSearch::kFound : FdeSearch::kAbsent;
}

}  // namespace gputrace::interpose
