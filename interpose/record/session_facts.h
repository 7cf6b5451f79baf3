// SPDX-License-Identifier: Apache-2.0
// Facts about the process, the options and the tracer that go into the trace's dictionary.
#ifndef GPUTRACE_INTERPOSE_RECORD_SESSION_FACTS_H_
#define GPUTRACE_INTERPOSE_RECORD_SESSION_FACTS_H_

#include "interpose/record/process.h"
#include "interpose/record/session.h"
#include "interpose/resolve/wrappers.h"
#include "trace/dictionary_encoder.h"

namespace gputrace::interpose {

void AddSessionFacts(const Session& session, const ProcessInfo& process,
                     trace::DictionaryEncoder* dictionary);

// The descriptors of all driver entries that the tracer records.
void AddEntries(trace::DictionaryEncoder* dictionary);

// How many entries the driver has.
void AddExports(const DriverExports& exports, trace::DictionaryEncoder* dictionary);

// What tracing cost: for the end of the trace.
void AddCosts(const Session& session, trace::DictionaryEncoder* dictionary);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_SESSION_FACTS_H_
