// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/progress.h"
#include "analyzer/ingest/inputs.h"

namespace gputrace::cli {

absl::StatusOr<std::unique_ptr<Session>> Session::Open(const CommonOptions& options,
                                                       const std::vector<std::string>& paths) {
  std::unique_ptr<Session> session(new Session(options));
  absl::StatusOr<std::unique_ptr<ingest::Job>> job = ingest::Job::Open(paths);
  if (!job.ok()) return job.status();
  session->job_ = *std::move(job);
  symbols::SymbolizerOptions symbol_options;
  symbol_options.sysroot = options.sysroot;
  symbol_options.debug_dirs = options.debug_dirs;
  symbol_options.enabled = !options.no_symbols;
  absl::StatusOr<std::unique_ptr<symbols::Symbolizer>> symbolizer =
      symbols::Symbolizer::Create(symbol_options);
  if (!symbolizer.ok()) return symbolizer.status();
  session->symbolizer_ = *std::move(symbolizer);
  session->owners_ = std::make_unique<analyses::OwnerTable>(session->job_.get(), &session->sites_);
  session->stacks_ = std::make_unique<report::StackReader>(session->job_.get(), &session->sites_,
                                                           session->symbolizer_.get());
  session->trust_ = std::make_unique<analyses::TrustCollector>(session->job_.get());
  if (!options.device.empty()) {
    absl::StatusOr<int32_t> device = ingest::FindDevice(*session->job_, options.device);
    if (!device.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--device: ", device.status().message()));
    }
    session->device_ = *device;
  }
  return session;
}

analyses::Filter Session::filter(ledger::AccountSet kinds) const {
  analyses::Filter filter;
  filter.accounts = options_.kinds.value_or(kinds);
  filter.device = device_;
  return filter;
}

absl::StatusOr<analyses::RunResult> Session::Run(const std::vector<ledger::Observer*>& observers,
                                                 std::optional<int64_t> until_ns) {
  analyses::RunOptions run_options;
  run_options.until_ns = until_ns;
  return RunWith(observers, std::move(run_options));
}

absl::StatusOr<analyses::RunResult> Session::Run(
    std::function<void(const ingest::TimedRecord&)> on_record) {
  analyses::RunOptions run_options;
  run_options.on_record = std::move(on_record);
  return RunWith({}, std::move(run_options));
}

absl::StatusOr<analyses::RunResult> Session::RunWith(
    const std::vector<ledger::Observer*>& observers, analyses::RunOptions run_options) {
  Progress progress("reading the trace", !options_.quiet);
  run_options.max_memory = options_.max_memory;
  run_options.progress = [&](double share) { progress.Show(share); };
  return analyses::RunLedgers(job_.get(), &sites_, observers, trust_.get(), run_options);
}

analyses::Trust Session::Trust(const analyses::RunResult& result) const {
  analyses::Trust trust = trust_->Judge(result.ledger_pointers());
  if (options_.no_symbols) return trust;
  for (const symbols::ModuleReport& module : symbolizer_->Reports()) {
    if (module.state != symbols::ModuleState::kMissing &&
        module.state != symbols::ModuleState::kMismatch &&
        module.state != symbols::ModuleState::kUnreadable) {
      continue;
    }
    ++trust.unresolved_modules;
    trust.attribution_complete = false;
    trust.reasons.push_back(absl::StrCat("no symbols for ", module.path, ": ", module.reason));
  }
  return trust;
}

std::string Session::DeviceName(int32_t device) const {
  return device == ledger::kHost ? "host memory" : absl::StrCat("device ", device);
}

namespace {

absl::Status RunOnce(const CommonOptions& options, const std::vector<std::string>& paths,
                     const SessionBody& body, Output* out, bool* trustworthy) {
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Open(options, paths);
  if (!session.ok()) return session.status();
  return body(session->get(), out, trustworthy);
}

}  // namespace

int RunOnTraces(CommonOptions* options, const SessionBody& body) {
  if (absl::Status status = options->Check(); !status.ok()) {
    return Fail(std::string(status.message()));
  }
  const absl::StatusOr<std::vector<std::string>> paths = ingest::ExpandInputs(options->traces);
  if (!paths.ok()) return Fail(std::string(paths.status().message()));
  std::vector<std::vector<std::string>> jobs;
  if (options->separate) {
    for (const std::string& path : *paths) jobs.push_back({path});
  } else {
    jobs.push_back(*paths);
  }
  Output out(1);
  bool all_trustworthy = true;
  for (size_t i = 0; i < jobs.size() && !out.closed(); ++i) {
    if (i > 0 && !options->json) out.Write("\n");
    bool trustworthy = true;
    absl::Status status = RunOnce(*options, jobs[i], body, &out, &trustworthy);
    if (!status.ok()) {
      out.Finish().IgnoreError();
      return Fail(std::string(status.message()));
    }
    all_trustworthy &= trustworthy;
  }
  if (absl::Status status = out.Finish(); !status.ok()) return Fail(std::string(status.message()));
  return options->strict && !all_trustworthy ? kExitNotTrustworthy : kExitDone;
}

}  // namespace gputrace::cli
