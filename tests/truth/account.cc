// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/account.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/truth/marks.h"

namespace gputrace::truth {
namespace {

constexpr int32_t kAnyDevice = static_cast<int32_t>(kPlaces) - 2;

std::string Describe(const Change& change, const char* what_number) {
  const std::string place = change.device == kAnyDevice ? "any device"
                            : change.device < 0         ? "host"
                                                        : absl::StrCat("device ", change.device);
  std::string text =
      absl::StrFormat("%s %d bytes, %s, by %s (%s %d)", change.begins ? "begins with" : "ends with",
                      change.size, place, std::string(change.call), what_number, change.number);
  if (change.pool != 0) absl::StrAppendFormat(&text, ", pool 0x%x", change.pool);
  return text;
}

// A trace need not know a device's default pool; those that the program has made it must.
bool SamePool(const Account& driver, uint64_t theirs, uint64_t ours) {
  static const size_t kPools = FindKind("mempool");
  return theirs == ours || (ours == 0 && !driver.changes().contains({kPools, theirs}));
}

bool Same(const Account& driver, size_t kind, const Change& theirs, const Change& ours) {
  const bool same_size =
      theirs.size == ours.size || (kKinds[kind].size == SizeIs::kSeldomUnknown && ours.size == 0);
  return theirs.begins == ours.begins && theirs.device == ours.device && same_size &&
         theirs.call == ours.call && SamePool(driver, theirs.pool, ours.pool);
}

void DescribeHistory(const std::vector<Change>& changes, size_t at, const char* what_number,
                     std::string* text) {
  const size_t from = at < 3 ? 0 : at - 3;
  for (size_t i = from; i < std::min(changes.size(), at + 2); ++i) {
    absl::StrAppend(text, i == at ? "  > " : "    ", Describe(changes[i], what_number), "\n");
  }
  if (changes.size() <= at) absl::StrAppend(text, "  > nothing more\n");
}

struct Difference {
  double when = 2;  // share of its side's changes that came before
  std::string text;
};

void CompareChanges(const Account& driver, const Account& ledger, Difference* first) {
  static const std::vector<Change> kNothing;
  const auto compare = [&](const Account::Key& key, const std::vector<Change>& theirs,
                           const std::vector<Change>& ours) {
    size_t at = 0;
    while (at < theirs.size() && at < ours.size() && Same(driver, key.first, theirs[at], ours[at]))
      ++at;
    if (at == theirs.size() && at == ours.size()) return;
    const bool has_theirs = at < theirs.size();
    const double when =
        static_cast<double>(has_theirs ? theirs[at].number : ours[at].number) /
        static_cast<double>(has_theirs ? driver.last_number() : ledger.last_number());
    if (when >= first->when) return;
    first->when = when;
    first->text = absl::StrFormat("%s 0x%x\n  the driver:\n", std::string(kKinds[key.first].name),
                                  key.second);
    DescribeHistory(theirs, at, "change", &first->text);
    absl::StrAppend(&first->text, "  the ledger:\n");
    DescribeHistory(ours, at, "record", &first->text);
  };
  for (const auto& [key, theirs] : driver.changes()) {
    const auto ours = ledger.changes().find(key);
    compare(key, theirs, ours == ledger.changes().end() ? kNothing : ours->second);
  }
  for (const auto& [key, ours] : ledger.changes()) {
    if (!driver.changes().contains(key)) compare(key, kNothing, ours);
  }
}

std::string CompareQuietPoints(const Account& driver, const Account& ledger) {
  if (driver.quiet_points().size() != ledger.quiet_points().size()) {
    return absl::StrCat("quiet points: driver ", driver.quiet_points().size(), ", ledger ",
                        ledger.quiet_points().size(), "\n");
  }
  for (const auto& [mark, theirs] : driver.quiet_points()) {
    const auto ours = ledger.quiet_points().find(mark);
    if (ours == ledger.quiet_points().end()) return absl::StrCat("no quiet point ", mark, "\n");
    for (size_t kind = 0; kind < kKindCount; ++kind) {
      for (size_t place = 0; place < kPlaces; ++place) {
        const Total& a = theirs[kind][place];
        const Total& b = ours->second[kind][place];
        if (a == b) continue;
        return absl::StrFormat(
            "at quiet point %d: %s on device %d: driver %d with %d bytes, ledger %d with %d\n",
            mark, std::string(kKinds[kind].name), static_cast<int>(place) - 1, a.count, a.bytes,
            b.count, b.bytes);
      }
    }
  }
  return "";
}

}  // namespace

size_t FindKind(std::string_view name) {
  for (size_t i = 0; i < kKindCount; ++i) {
    if (kKinds[i].name == name) return i;
  }
  return kNoKind;
}

void Account::Add(size_t kind, uint64_t identity, Change change) {
  if (kKinds[kind].size == SizeIs::kUnknown) change.size = 0;
  if (!kKinds[kind].has_device) change.device = kAnyDevice;
  if (change.begins && kKinds[kind].name == "reserved_va" && change.size >= kMarkBase) {
    quiet_points_[(change.size - kMarkBase) / kMarkStep] = totals_;
  }
  last_number_ = change.number;
  ++size_;
  Count(kind, change, change.begins ? 1 : -1);
  changes_[{kind, identity}].push_back(change);
}

void Account::AddToTotal(size_t kind, int change) { totals_[kind][kPlaces - 1].count += change; }

void Account::TakeBackEnd(size_t kind, uint64_t identity, uint64_t id) {
  std::vector<Change>& changes = changes_[{kind, identity}];
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    if (change->begins || change->id != id) continue;
    Count(kind, *change, 1);
    changes.erase(std::next(change).base());
    --size_;
    return;
  }
}

void Account::Count(size_t kind, const Change& change, int sign) {
  const auto place = std::clamp<int32_t>(change.device + 1, 0, kPlaces - 1);
  Total& total = totals_[kind][static_cast<size_t>(place)];
  total.count += sign;
  if (kKinds[kind].size != SizeIs::kKnown) return;
  total.bytes += sign * static_cast<int64_t>(change.size);
}

std::string_view Account::Intern(std::string_view name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return *found->second;
  auto owned = std::make_unique<std::string>(name);
  const std::string_view view = *owned;
  names_.emplace(view, std::move(owned));
  return view;
}

std::string FirstDifference(const Account& driver, const Account& ledger) {
  Difference first;
  CompareChanges(driver, ledger, &first);
  return first.text.empty() ? CompareQuietPoints(driver, ledger) : first.text;
}

}  // namespace gputrace::truth
