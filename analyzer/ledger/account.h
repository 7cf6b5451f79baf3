// SPDX-License-Identifier: Apache-2.0
// The accounts of memory that are kept apart, and the names they have on the command line and in
// JSON.
#ifndef GPUTRACE_ANALYZER_LEDGER_ACCOUNT_H_
#define GPUTRACE_ANALYZER_LEDGER_ACCOUNT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "trace/format.h"

namespace gputrace::ledger {

// Bytes of different accounts are never the same bytes counted twice, with these exceptions, which
// is why nothing adds them up blindly: kPoolUsed is inside kPoolReserved; kAlias and kReservedVa
// are addresses without memory of their own; the frameworks' accounts are inside the driver's.
// Definitions: docs/metrics.md.
enum class Account : uint8_t {
  kDevice,
  kArray,
  kVmm,
  kPoolReserved,  // sampled
  kPoolUsed,
  kPoolPending,  // freed in stream order; no evidence that the stream has got there
  kGraph,        // sampled
  kManaged,
  kPinned,
  kRegistered,
  kAlias,
  kReservedVa,
  kFrameworkReserved,
  kFrameworkAllocated,
  // Objects that are counted; their bytes, if any, are sizes of images and not of memory.
  kModule,
  kContext,
  kStream,
  kEvent,
  kGraphObject,
  kGraphExec,
  kPoolObject,
  kOther,
};
inline constexpr size_t kAccounts = static_cast<size_t>(Account::kOther) + 1;
inline constexpr size_t kMemoryAccounts = static_cast<size_t>(Account::kModule);

using AccountSet = uint32_t;  // bits
constexpr AccountSet Bit(Account account) {
  return AccountSet{1} << static_cast<unsigned>(account);
}

// What occupies a device's own memory and is seen allocation by allocation.
inline constexpr AccountSet kDeviceAccounts =
    Bit(Account::kDevice) | Bit(Account::kArray) | Bit(Account::kVmm) | Bit(Account::kPoolUsed);
inline constexpr AccountSet kHostAccounts = Bit(Account::kPinned) | Bit(Account::kRegistered);

// The key in JSON's `ledgers` or `objects`: "device", "pool_used", "stream", …
std::string_view AccountName(Account account);
// The name for people: "device", "pool blocks", …
std::string_view AccountTitle(Account account);
// The kind as --kind takes it and as JSON's `kind` gives it: "device", "pool", "vmm", …
std::string_view KindName(Account account);

// A comma-separated list of kinds (docs/metrics.md lists them), of accounts' names, or `all`.
// kInvalidArgument names the part that is no kind.
absl::StatusOr<AccountSet> ParseKinds(std::string_view list);
// The reverse: kinds in order, comma-separated.
std::string KindNames(AccountSet accounts);
// For people: "device" for kDeviceAccounts, else the kinds.
std::string DescribeKinds(AccountSet accounts);

// Where objects of a kind are accounted for.
Account AccountOf(trace::ObjectKind kind);

}  // namespace gputrace::ledger

#endif  // GPUTRACE_ANALYZER_LEDGER_ACCOUNT_H_
