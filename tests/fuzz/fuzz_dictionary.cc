// SPDX-License-Identifier: Apache-2.0
// The decoder of dictionary blocks, behind checksum and decompression.
#include <cstddef>
#include <cstdint>

#include "trace/dictionary_builder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gputrace::trace::Dictionary dictionary;
  gputrace::trace::DictionaryBuilder builder(&dictionary);
  builder.AddPayload({data, size}).IgnoreError();
  for (uint32_t id = 1; id <= dictionary.stack_count() && id < 100; ++id) dictionary.stack(id);
  dictionary.FindModule(0x1000, 1);
  return 0;
}
