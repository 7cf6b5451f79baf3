// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/program.h"

#include <sstream>

#include "tests/truth/operations.h"

namespace gputrace::truth {
namespace {

bool ParseStep(std::istringstream* line, const std::string& thread, Phase* phase) {
  Step step;
  step.thread = static_cast<uint32_t>(std::stoul(thread));
  std::string name;
  *line >> name;
  if (!FindOperation(name, &step.operation)) return false;
  for (size_t i = 0; i < Operations()[step.operation].argument_count; ++i) {
    if (!(*line >> step.arguments[i])) return false;
  }
  phase->steps.push_back(step);
  return true;
}

bool ParseLine(const std::string& text, Program* program) {
  std::istringstream line(text);
  std::string first;
  if (!(line >> first) || first[0] == '#') return true;
  if (first == "threads") return static_cast<bool>(line >> program->threads);
  if (first == "set") {
    auto& [name, value] = program->environment.emplace_back();
    return static_cast<bool>(line >> name >> value);
  }
  if (first == "phase") {
    std::string kind;
    line >> kind;
    program->phases.push_back({kind == "parallel", {}});
    return kind == "parallel" || kind == "serial";
  }
  if (first.find_first_not_of("0123456789") != std::string::npos) return false;
  return !program->phases.empty() && ParseStep(&line, first, &program->phases.back());
}

}  // namespace

std::string Print(const Program& program) {
  std::ostringstream out;
  out << "threads " << program.threads << "\n";
  for (const auto& [name, value] : program.environment)
    out << "set " << name << " " << value << "\n";
  for (const Phase& phase : program.phases) {
    out << "phase " << (phase.parallel ? "parallel" : "serial") << "\n";
    for (const Step& step : phase.steps) {
      const Operation& operation = Operations()[step.operation];
      out << step.thread << " " << operation.name;
      for (size_t i = 0; i < operation.argument_count; ++i) out << " " << step.arguments[i];
      out << "\n";
    }
  }
  return out.str();
}

bool Parse(const std::string& text, Program* program, std::string* error) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (ParseLine(line, program)) continue;
    *error = "line " + std::to_string(number) + ": " + line;
    return false;
  }
  return true;
}

}  // namespace gputrace::truth
