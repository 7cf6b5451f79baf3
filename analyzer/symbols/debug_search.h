// SPDX-License-Identifier: Apache-2.0
// Finds the file that holds a stripped module's debug information.
#ifndef GPUTRACE_ANALYZER_SYMBOLS_DEBUG_SEARCH_H_
#define GPUTRACE_ANALYZER_SYMBOLS_DEBUG_SEARCH_H_

#include <memory>
#include <string>
#include <vector>

#include "analyzer/symbols/elf_file.h"

namespace gputrace::symbols {

struct DebugSearch {
  std::string sysroot;
  std::vector<std::string> debug_dirs;
};

// Looks, in this order, by build-id and then by the debug link: in `debug_dirs`, in the system's
// folder, beside the module. A file counts only if it has the module's build-id, or, where the
// module has none, the CRC that the link names. Null if there is none.
std::unique_ptr<ElfFile> FindDebugFile(const ElfFile& module, const std::string& module_path,
                                       const DebugSearch& search);

}  // namespace gputrace::symbols

#endif  // GPUTRACE_ANALYZER_SYMBOLS_DEBUG_SEARCH_H_
