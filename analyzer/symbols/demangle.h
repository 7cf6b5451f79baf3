// SPDX-License-Identifier: Apache-2.0
// Symbols as the programmer wrote them.
#ifndef GPUTRACE_ANALYZER_SYMBOLS_DEMANGLE_H_
#define GPUTRACE_ANALYZER_SYMBOLS_DEMANGLE_H_

#include <string>
#include <string_view>

namespace gputrace::symbols {

// `_ZN3fooEv` -> `foo()`. What is not a mangled C++ name, or is absurdly long, comes back as it is.
std::string Demangle(std::string_view symbol);

}  // namespace gputrace::symbols

#endif  // GPUTRACE_ANALYZER_SYMBOLS_DEMANGLE_H_
