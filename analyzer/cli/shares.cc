// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/shares.h"

#include <algorithm>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "nlohmann/json.hpp"

namespace gputrace::cli {

std::vector<Share> GroupShares(Session* session, const std::vector<analyses::SiteShare>& sites,
                               GroupBy by) {
  absl::flat_hash_map<uint64_t, Share> groups;
  for (const analyses::SiteShare& site : sites) {
    const uint64_t key = by == GroupBy::kLibrary ? session->owners().OwnerOf(site.site)
                                                 : session->stacks().Identity(site.site);
    Share& share = groups[key];
    // The lowest of its sites stands for a group: the same in every run.
    if (share.count == 0 || site.site < share.site) share.site = site.site;
    share.bytes += site.bytes;
    share.count += site.count;
  }
  std::vector<Share> shares;
  for (auto& [key, share] : groups) {
    if (share.bytes < session->options().min_size) continue;
    if (by == GroupBy::kLibrary) {
      share.library = session->owners().name(static_cast<uint32_t>(key));
    }
    shares.push_back(std::move(share));
  }
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return std::tuple(b.bytes, b.count, a.site) < std::tuple(a.bytes, a.count, b.site);
  });
  return shares;
}

report::Json SharesJson(const Session& session, const std::vector<Share>& shares, size_t top) {
  report::Json json = report::Json::array();
  for (size_t i = 0; i < shares.size() && i < top; ++i) {
    const Share& share = shares[i];
    report::Json one;
    one["bytes"] = share.bytes;
    one["count"] = share.count;
    if (share.library.empty()) {
      one["stack"] = report::FramesJson(session.stacks().Frames(share.site));
      one["fingerprint"] = session.stacks().Fingerprint(share.site);
    } else {
      one["library"] = share.library;
    }
    one["framework"] = nullptr;
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace gputrace::cli
