// SPDX-License-Identifier: Apache-2.0
// The decoder of event blocks, behind checksum and decompression.
#include <cstddef>
#include <cstdint>

#include "trace/column_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* decoder = new gputrace::trace::ColumnDecoder;
  std::vector<gputrace::trace::RingRange> ranges;
  gputrace::trace::ColumnDecoder::ReadRanges({data, size}, &ranges).IgnoreError();
  decoder
      ->Decode({data, size}, gputrace::trace::kMaxRecordsPerBlock, 0,
               [](const gputrace::trace::PackedRecord&) {})
      .IgnoreError();
  return 0;
}
