// SPDX-License-Identifier: Apache-2.0
// Sites as people read them: symbolised frames, and fingerprints that outlive addresses.
#ifndef GPUTRACE_ANALYZER_REPORT_STACKS_H_
#define GPUTRACE_ANALYZER_REPORT_STACKS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/ingest/job.h"
#include "analyzer/ledger/site_table.h"
#include "analyzer/symbols/symbolizer.h"

namespace gputrace::report {

// One line for people: `function at file:line (module)`. Escaped.
std::string FrameText(const symbols::Frame& frame);

// Symbolises on demand; nothing is asked of the symbolizer for sites that are not shown.
class StackReader {
 public:
  // All outlive the reader.
  StackReader(const ingest::Job* job, const ledger::SiteTable* sites,
              symbols::Symbolizer* symbolizer)
      : job_(job), sites_(sites), symbolizer_(symbolizer) {}

  // Innermost first, frames of the tracer itself left out. Pointers are good as long as the
  // symbolizer.
  std::vector<const symbols::Frame*> Frames(uint32_t site) const;
  // Of any stack of a process's dictionary.
  std::vector<const symbols::Frame*> Frames(uint32_t process, uint32_t native_stack) const;

  // "v1:" and 16 hexadecimal digits: a hash of the frames' functions and modules, or of build-id
  // and offset for frames without a symbol. The same in other runs, also when lines have shifted.
  std::string Fingerprint(uint32_t site) const;

  // Equal for sites whose frames are at the same places of the same modules, in whatever process.
  uint64_t Identity(uint32_t site) const;
  // Equal for sites whose frames are on the same lines of the same functions, too: compilers make
  // several calls out of one, for example of a loop's first round and the rest.
  uint64_t SourceIdentity(uint32_t site) const;

 private:
  struct Place {
    const trace::Module* module;  // null if the address is in none
    uint64_t pc;
  };
  std::vector<Place> Places(uint32_t process, uint32_t native_stack) const;
  const std::vector<symbols::Frame>& FramesAt(const Place& place) const;

  const ingest::Job* const job_;
  const ledger::SiteTable* const sites_;
  symbols::Symbolizer* const symbolizer_;
};

}  // namespace gputrace::report

#endif  // GPUTRACE_ANALYZER_REPORT_STACKS_H_
