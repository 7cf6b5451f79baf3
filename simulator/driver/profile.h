// SPDX-License-Identifier: Apache-2.0
// Driver versions that the stand-in can be.
#ifndef GPUTRACE_SIMULATOR_DRIVER_PROFILE_H_
#define GPUTRACE_SIMULATOR_DRIVER_PROFILE_H_

#include <string_view>

namespace gputrace::sim {

// "12.8" → 12080; 0 if there is no such profile.
int ProfileVersion(std::string_view name);

// The version of this library, unless GPUSIM_VERSION says otherwise. The libraries of a profile are
// the same code with fewer symbols and another number here.
int DefaultVersion();

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_PROFILE_H_
