// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/recorder.h"

#include <cuda.h>

#include "interpose/hooks/entry_table.h"
#include "interpose/record/contexts.h"
#include "interpose/record/modules.h"
#include "interpose/record/ring.h"
#include "interpose/record/session.h"
#include "interpose/resolve/driver.h"
#include "interpose/stacks/code_map.h"
#include "interpose/stacks/unwinder.h"
#include "trace/column_model.h"

namespace gputrace::interpose {
namespace {

// A completion that brings nothing but a duration is written only if it is a long one.
constexpr uint64_t kLongNs = 20'000;

// After a call that took less than the shortest duration that the trace can tell.
constexpr uint8_t kUntimedCalls = 7;

void DefineStack(ThreadState* state) {
  const CapturedStack& stack = state->stack;
  Definition definition{};
  definition.kind = trace::RingOnlyKind::kStack;
  definition.flags = stack.truncated ? trace::kFlagTruncatedStack : 0;
  definition.epoch = DefineModules(state);
  definition.hash = stack.hash;
  definition.words = stack.pcs;
  definition.word_count = stack.depth;
  // Without it records would refer to nothing: the next one tries again.
  if (PublishDefinition(state, definition)) return;
  state->seen.Clear();
  state->unwinder->ForgetNames();
}

// For stacks that are not known. What it does may take a while, or wait for the writer: nothing
// must be announced meanwhile.
[[gnu::noinline]] bool CaptureNewStack(ThreadState* state, const void* frame) {
  const uint32_t depth = state->session->options.depth;
  CapturedStack* stack = &state->stack;
  WithdrawStamp(state);
  if (!state->unwinder->Capture(CallerOf(frame), depth, stack)) return false;
  if (stack->known || !state->seen.Insert(stack->hash)) return true;
  // What is new is looked at twice: was it found by what is known of code that is gone?
  const uint64_t code_state = CodeState();
  CheckForUnloading();
  if (CodeState() != code_state) {
    if (!state->unwinder->Capture(CallerOf(frame), depth, stack)) return false;
    state->seen.Insert(stack->hash);
  }
  DefineStack(state);
  return true;
}

// Captures the calling thread's stack; its hash, or 0 if none is wanted or to be had.
[[gnu::always_inline]] inline uint64_t CaptureStack(ThreadState* state, uint16_t entry,
                                                    const void* frame, uint8_t* flags) {
  if (!state->session->wants_stack[entry] || state->unwinder == nullptr) return 0;
  CapturedStack* stack = &state->stack;
  if (!state->unwinder->Recognize(CallerOf(frame), state->session->options.depth, stack) &&
      !CaptureNewStack(state, frame)) {
    return 0;
  }
  if (stack->truncated) *flags |= trace::kFlagTruncatedStack;
  return stack->hash;
}

struct RecordFields {
  trace::RecordKind kind;
  uint16_t entry;
  uint8_t flags;
  int32_t result;
  uint64_t native_hash;
  uint64_t duration_ticks;
  const uint64_t* operands;
  uint32_t operand_count;
};

// To ask for it may take a while.
[[gnu::noinline]] void FindContext(ThreadState* state) {
  WithdrawStamp(state);
  CurrentContext(state);
}

// Stamps, unless there is a stamp, and publishes. False if the record was lost.
[[gnu::always_inline]] inline bool WriteRecord(ThreadState* state, const RecordFields& fields) {
  if (!state->context_known) FindContext(state);
  const uint32_t context = state->context_known ? state->context : 0;
  if (state->stamp == 0) BeginCommit(state);
  trace::RingRecord* record = ReserveRecord(state, trace::kRingRecordWords + fields.operand_count);
  if (record != nullptr) {
    // Not before there was room: while a thread waits for room, others go on.
    state->last_ticks = state->stamp != 0 ? state->stamp : ReadTicks(state->clock);
    record->kind = static_cast<uint8_t>(fields.kind);
    record->flags = fields.flags;
    if (state->session->after_exit()) record->flags |= trace::kFlagAfterExit;
    record->entry = fields.entry;
    record->ticks = state->last_ticks;
    record->native_hash = fields.native_hash;
    record->python_hash = 0;
    record->result = fields.result;
    record->context = context;
    record->duration_ticks = fields.duration_ticks > UINT32_MAX
                                 ? UINT32_MAX
                                 : static_cast<uint32_t>(fields.duration_ticks);
    record->epoch = 0;
    uint64_t* operands = WordsOf(record);
    for (uint32_t i = 0; i < fields.operand_count; ++i) operands[i] = fields.operands[i];
    if (fields.kind == trace::RecordKind::kIntent) {
      // Before the record becomes visible: whoever finds it after a kill must know that the call
      // may not have been made.
      state->ring->in_call.store(state->head + 1, std::memory_order_relaxed);
    }
    PublishRecord(state, record);
  }
  WithdrawStamp(state);
  if (state->session->after_exit()) DrainNow(state->session);
  return record != nullptr;
}

[[gnu::noinline]] void WriteCompletion(ThreadState* state, const RecordFields& fields) {
  WriteRecord(state, fields);
}

}  // namespace

CallScope::CallScope(uint16_t entry, const void* frame) : frame_(frame), entry_(entry) {
  if (t_thread.depth++ == 0) state_ = AcquireThreadState();
}

void CallScope::CommitIntent() {
  uint8_t flags = cut_ ? trace::kFlagCutOperands : 0;
  const uint64_t hash = CaptureStack(state_, entry_, frame_, &flags);
  const RecordFields fields{
      trace::RecordKind::kIntent, entry_, flags, 0, hash, 0, operands_, count_};
  if (WriteRecord(state_, fields)) begin_ticks_ = state_->last_ticks;
  intent_committed_ = true;
  in_count_ = count_;
}

// Reading the clock is much of what an event costs, and a call that is quicker than the trace can
// tell is likely to be so again: then it is timed only now and again.
void CallScope::BeforeCall() {
  uint8_t& untimed = state_->untimed_calls[entry_];
  timed_ = untimed == 0;
  if (!timed_) {
    --untimed;
  } else if (begin_ticks_ == 0) {  // an intent's stamp will do
    begin_ticks_ = ReadTicks(state_->clock);
  }
}

void CallScope::AfterCall(int32_t result) {
  result_ = result;
  if (intent_committed_) {
    state_->ring->in_call.store(0, std::memory_order_release);
    if (!timed_) return;
    duration_ = ReadTicks(state_->clock) - begin_ticks_;
  } else {
    const uint64_t end = TakeStamp(state_);
    if (!timed_) return;
    duration_ = end - begin_ticks_;
  }
  if (trace::DurationCode(duration_ >> state_->session->time_shift) == 0) {
    state_->untimed_calls[entry_] = kUntimedCalls;
  }
}

void CallScope::Commit() {
  Session* session = state_->session;
  if (intent_committed_) {
    const uint32_t out_count = count_ - in_count_;
    const bool is_long = duration_ > session->ticks_per_second / 1'000'000 * (kLongNs / 1000);
    if (result_ == 0 && out_count == 0 && !is_long) return;
    WriteCompletion(state_, {trace::RecordKind::kCompletion, entry_, 0, result_, 0, duration_,
                             operands_ + in_count_, out_count});
    return;
  }
  // Polling that found nothing done says nothing, and may happen millions of times.
  if (result_ == CUDA_ERROR_NOT_READY) {
    WithdrawStamp(state_);
    return;
  }
  uint8_t flags = cut_ ? trace::kFlagCutOperands : 0;
  const uint64_t hash = CaptureStack(state_, entry_, frame_, &flags);
  WriteRecord(state_, {trace::RecordKind::kCall, entry_, flags, result_, hash, duration_, operands_,
                       count_});
  // What led to it should be on the disk before the program dies of it.
  if (result_ == CUDA_ERROR_OUT_OF_MEMORY) WakeWriter(session);
}

void RecordSample(uint16_t entry, const uint64_t* operands, uint32_t operand_count) {
  WriteRecord(t_thread.state,
              {trace::RecordKind::kSample, entry, 0, 0, 0, 0, operands, operand_count});
}

void NoteContextChange() {
  if (t_thread.state != nullptr) t_thread.state->context_known = false;
}

uint64_t CaptureOf(void* stream) {
  const ThreadState* state = t_thread.state;
  if (state == nullptr || state->session->captures.load(std::memory_order_relaxed) <= 0 ||
      driver().stream_get_capture_info == nullptr) {
    return 0;
  }
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  const CUresult result =
      driver().stream_get_capture_info(static_cast<CUstream>(stream), &status, &id);
  return result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
}

void NoteCapture(int change) {
  if (t_thread.state != nullptr) {
    t_thread.state->session->captures.fetch_add(change, std::memory_order_relaxed);
  }
}

}  // namespace gputrace::interpose
