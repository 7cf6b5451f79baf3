// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbols/demangle.h"

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace gputrace::symbols {
namespace {

// The demangler recurses, and files are not to be trusted.
constexpr size_t kMaxLength = 16 << 10;

struct Free {
  void operator()(char* text) const { free(text); }
};

}  // namespace

std::string Demangle(std::string_view symbol) {
  std::string name(symbol);
  if (!symbol.starts_with("_Z") || symbol.size() > kMaxLength) return name;
  int status = 0;
  const std::unique_ptr<char, Free> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status));
  return status == 0 && text != nullptr ? text.get() : name;
}

}  // namespace gputrace::symbols
