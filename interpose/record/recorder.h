// SPDX-License-Identifier: Apache-2.0
// The seam between the wrappers of driver entries and the recorder: one CallScope per wrapped call.
//
// Nothing here allocates, locks, throws or changes errno on the path of an ordinary call. The first
// call of a process (or of a forked child) starts the session; the first of a thread attaches a
// ring.
#ifndef GPUTRACE_INTERPOSE_RECORD_RECORDER_H_
#define GPUTRACE_INTERPOSE_RECORD_RECORDER_H_

#include <cstdint>

#include "interpose/record/thread_state.h"
#include "trace/format.h"

namespace gputrace::interpose {

// Lives on the stack of a wrapper's body, from before the call is forwarded until after it.
//
//   CallScope call(entry);
//   if (!call.active()) return next(…);
//   call.Operand(…);                  in operands, in the descriptor's order
//   call.CommitIntent();              only for entries with intent
//   call.BeforeCall();
//   CUresult result = next(…);
//   call.AfterCall(result);
//   if (result == CUDA_SUCCESS) call.OutOperand(…);
//   call.Commit();
class CallScope {
 public:
  // `frame` is that of the wrapper's body; what called it is the innermost frame of stacks.
  explicit CallScope(uint16_t entry, const void* frame = __builtin_frame_address(0));
  ~CallScope() { --t_thread.depth; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // False if this call is nested in another wrapped one (which is the one that counts), or nothing
  // is being recorded. An inactive scope ignores everything else.
  bool active() const { return state_ != nullptr; }

  void Operand(uint64_t value) { Append(value); }
  void OutOperand(uint64_t value) { Append(value); }
  void CommitIntent();
  void BeforeCall();
  void AfterCall(int32_t result);
  void Commit();

 private:
  void Append(uint64_t value) {
    if (count_ < trace::kMaxOperands) {
      operands_[count_++] = value;
    } else {
      cut_ = true;
    }
  }

  ThreadState* state_ = nullptr;
  const void* frame_;
  uint16_t entry_;
  bool cut_ = false;
  bool intent_committed_ = false;
  uint32_t count_ = 0;
  uint32_t in_count_ = 0;  // operands that the intent carried
  int32_t result_ = 0;
  bool timed_ = false;
  uint64_t begin_ticks_ = 0;
  uint64_t duration_ = 0;  // ticks; 0 if not timed
  uint64_t operands_[trace::kMaxOperands];
};

// A sample of the calling thread's within an active CallScope. `entry` is the call that it was
// taken after, 0 if it stands for itself.
void RecordSample(uint16_t entry, const uint64_t* operands, uint32_t operand_count);

// To be called after a successful call that can change the calling thread's current context, or
// that created or destroyed a context: the next record asks the driver again.
void NoteContextChange();

// The id of the capture `stream` takes part in, 0 if none. Asks the driver only while some stream
// of the process is capturing.
uint64_t CaptureOf(void* stream);
// To be called after a capture began (+1) or ended (-1) successfully.
void NoteCapture(int change);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_RECORDER_H_
