// SPDX-License-Identifier: Apache-2.0
// What a command that reads traces works with, and how it is run.
#ifndef GPUTRACE_ANALYZER_CLI_SESSION_H_
#define GPUTRACE_ANALYZER_CLI_SESSION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/analyses/owners.h"
#include "analyzer/analyses/peak.h"
#include "analyzer/analyses/run.h"
#include "analyzer/cli/options.h"
#include "analyzer/cli/output.h"
#include "analyzer/ingest/job.h"
#include "analyzer/report/stacks.h"
#include "analyzer/report/terminal.h"
#include "analyzer/symbols/symbolizer.h"

namespace gputrace::cli {

// One job, opened. Everything it hands out lives as long as it does.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Open(const CommonOptions& options,
                                                       const std::vector<std::string>& paths);

  const CommonOptions& options() const { return options_; }
  ingest::Job& job() { return *job_; }
  const ingest::Job& job() const { return *job_; }
  ledger::SiteTable& sites() { return sites_; }
  analyses::OwnerTable& owners() { return *owners_; }
  const report::StackReader& stacks() const { return *stacks_; }
  const report::Terminal& terminal() const { return terminal_; }
  // --device and --kind; `kinds` where no kind was asked for.
  analyses::Filter filter(ledger::AccountSet kinds) const;

  // Reads the job once, to the end or `until_ns`, with a line of progress on stderr where that is
  // wanted.
  absl::StatusOr<analyses::RunResult> Run(const std::vector<ledger::Observer*>& observers,
                                          std::optional<int64_t> until_ns = std::nullopt);
  // The same for who looks at the records themselves.
  absl::StatusOr<analyses::RunResult> Run(
      std::function<void(const ingest::TimedRecord&)> on_record);
  // What records of the last run said of the trace.
  const analyses::TrustCollector& trust_collector() const { return *trust_; }
  // Of the last run, and of the symbols asked for until now.
  analyses::Trust Trust(const analyses::RunResult& result) const;

  // Device 0 of several: "device 0"; "host memory" for none.
  std::string DeviceName(int32_t device) const;

 private:
  absl::StatusOr<analyses::RunResult> RunWith(const std::vector<ledger::Observer*>& observers,
                                              analyses::RunOptions run_options);

  explicit Session(const CommonOptions& options)
      : options_(options), terminal_(report::Terminal::Of(1, options.color)) {}

  const CommonOptions& options_;
  const report::Terminal terminal_;
  std::unique_ptr<ingest::Job> job_;
  ledger::SiteTable sites_;
  std::unique_ptr<symbols::Symbolizer> symbolizer_;
  std::unique_ptr<analyses::OwnerTable> owners_;
  std::unique_ptr<report::StackReader> stacks_;
  std::unique_ptr<analyses::TrustCollector> trust_;
  std::optional<int32_t> device_;
};

// Writes a command's answer about one job. Sets `*trustworthy` to whether --strict may be content.
using SessionBody = std::function<absl::Status(Session* session, Output* out, bool* trustworthy)>;

// Opens the traces (each by itself with --separate), runs `body`, and turns what came of it into
// the exit code; errors go to stderr as one line.
int RunOnTraces(CommonOptions* options, const SessionBody& body);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_SESSION_H_
