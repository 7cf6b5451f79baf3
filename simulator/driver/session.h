// SPDX-License-Identifier: Apache-2.0
// A folder through which several processes share cards (GPUSIM_SESSION).
#ifndef GPUTRACE_SIMULATOR_DRIVER_SESSION_H_
#define GPUTRACE_SIMULATOR_DRIVER_SESSION_H_

#include <cstdint>
#include <string>

namespace gputrace::sim {

// Joins the session, if there is one. False if the folder cannot be used.
bool JoinSession();

// Bytes of a card that other processes of the session hold. Processes that have ended, by whatever
// way, hold nothing. 0 without a session.
uint64_t UsedByOtherProcesses(int physical_device);

// Tells the others what this process holds of a card.
void PublishUse(int physical_device, uint64_t bytes);

// Where this process keeps the memory of a card, for others to map; empty without a session.
std::string BackingPath(int physical_device);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_SESSION_H_
