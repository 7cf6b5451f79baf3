// SPDX-License-Identifier: Apache-2.0
#include "interpose/stacks/cfi.h"

#include <cstring>

#include "interpose/stacks/eh_frame.h"

namespace gputrace::interpose {
namespace {

// Register numbers of the x86-64 ABI.
constexpr uint64_t kRbp = 6;
constexpr uint64_t kRsp = 7;

// What stands for DW_OP_breg6: rbp plus an offset.
constexpr uint8_t kOpBreg6 = 0x76;
constexpr uint8_t kOpDeref = 0x06;

// One row of the table that the instructions describe, as far as rules need it.
struct Row {
  FrameKind cfa = FrameKind::kComplex;
  int64_t cfa_offset = 0;
  BpRule bp = BpRule::kSame;
  int64_t bp_offset = 0;
  bool bp_is_complex = false;
  bool sp_is_complex = false;
  bool has_caller = true;
  bool return_is_complex = true;
};

class Machine {
 public:
  explicit Machine(const Fde& fde) : cie_(fde.cie), location_(fde.start) {}

  // Runs until the row that holds at `address` is complete. False if there is something unknown.
  bool Run(Reader instructions, uint64_t address) {
    while (!instructions.at_end()) {
      if (!Step(&instructions)) return false;
      if (location_ > address) {
        row_ = before_;
        return instructions.ok();
      }
    }
    return instructions.ok();
  }
  void EndOfCie() { initial_ = row_; }
  const Row& row() const { return row_; }

 private:
  static constexpr uint32_t kMaxRemembered = 16;

  void Advance(uint64_t delta) {
    before_ = row_;
    location_ += delta * cie_.code_align;
  }
  void SetCfa(uint64_t reg, int64_t offset) {
    cfa_register_ = reg;
    row_.cfa_offset = offset;
    row_.cfa = KindOf(reg);
  }
  static FrameKind KindOf(uint64_t reg) {
    if (reg == kRsp) return FrameKind::kSp;
    return reg == kRbp ? FrameKind::kBp : FrameKind::kComplex;
  }
  void SavedAt(uint64_t reg, int64_t offset) {
    if (reg == kRbp) {
      row_.bp = BpRule::kAtCfa;
      row_.bp_offset = offset;
      row_.bp_is_complex = false;
    } else if (reg == kReturnAddress) {
      row_.has_caller = true;
      row_.return_is_complex = offset != -8;
    } else if (reg == kRsp) {
      row_.sp_is_complex = true;
    }
  }
  void Complex(uint64_t reg) {
    if (reg == kRbp) row_.bp_is_complex = true;
    if (reg == kRsp) row_.sp_is_complex = true;
    if (reg == kReturnAddress) row_.return_is_complex = true;
  }
  void Unchanged(uint64_t reg) {
    if (reg == kRbp) {
      row_.bp = BpRule::kSame;
      row_.bp_is_complex = false;
    } else {
      if (reg == kRsp) row_.sp_is_complex = false;
      if (reg == kReturnAddress) row_.return_is_complex = true;
    }
  }
  void Restore(uint64_t reg) {
    if (reg == kRbp) {
      row_.bp = initial_.bp;
      row_.bp_offset = initial_.bp_offset;
      row_.bp_is_complex = initial_.bp_is_complex;
    } else if (reg == kRsp) {
      row_.sp_is_complex = initial_.sp_is_complex;
    } else if (reg == kReturnAddress) {
      row_.has_caller = initial_.has_caller;
      row_.return_is_complex = initial_.return_is_complex;
    }
  }
  void CfaExpression(Reader* reader) {
    Reader block = Block(reader);
    row_.cfa = FrameKind::kComplex;
    cfa_register_ = ~uint64_t{0};
    if (block.Read<uint8_t>() != kOpBreg6) return;
    const int64_t offset = block.Sleb();
    if (block.Read<uint8_t>() != kOpDeref || !block.ok() || !block.at_end()) return;
    row_.cfa = FrameKind::kAtBp;
    row_.cfa_offset = offset;
  }
  void SavedAtExpression(uint64_t reg, Reader* reader) {
    Reader block = Block(reader);
    Complex(reg);
    if (reg != kRbp || block.Read<uint8_t>() != kOpBreg6) return;
    const int64_t offset = block.Sleb();
    if (!block.ok() || !block.at_end()) return;
    row_.bp = BpRule::kAtBp;
    row_.bp_offset = offset;
    row_.bp_is_complex = false;
  }
  static Reader Block(Reader* reader) {
    const uint64_t size = reader->Uleb();
    const uint64_t start = reader->position();
    reader->Skip(size);
    return reader->ok() ? Reader(start, start + size) : Reader(0, 0);
  }

  // The DW_CFA_* instructions, by their numbers in the DWARF standard (section 7.24).
  bool Step(Reader* reader) {
    const auto code = reader->Read<uint8_t>();
    const uint64_t low = code & 0x3f;
    switch (code & 0xc0) {
      case 0x40:
        Advance(low);
        return true;
      case 0x80:
        SavedAt(low, static_cast<int64_t>(reader->Uleb()) * cie_.data_align);
        return true;
      case 0xc0:
        Restore(low);
        return true;
      default:
        return StepExtended(code, reader);
    }
  }
  bool StepExtended(uint8_t code, Reader* reader) {
    uint64_t reg = 0;
    switch (code) {
      case 0x00:  // nop
        return true;
      case 0x01:  // set_loc
        before_ = row_;
        location_ = reader->Pointer(cie_.pointer_encoding);
        return true;
      case 0x02:
        Advance(reader->Read<uint8_t>());
        return true;
      case 0x03:
        Advance(reader->Read<uint16_t>());
        return true;
      case 0x04:
        Advance(reader->Read<uint32_t>());
        return true;
      case 0x05:  // offset_extended
        reg = reader->Uleb();
        SavedAt(reg, static_cast<int64_t>(reader->Uleb()) * cie_.data_align);
        return true;
      case 0x06:  // restore_extended
        Restore(reader->Uleb());
        return true;
      case 0x07:  // undefined
        reg = reader->Uleb();
        if (reg == kReturnAddress) row_.has_caller = false;
        if (reg == kRbp) Unchanged(reg);
        return true;
      case 0x08:  // same_value
        Unchanged(reader->Uleb());
        return true;
      case 0x09:  // register
        Complex(reader->Uleb());
        reader->Uleb();
        return true;
      case 0x0a:  // remember_state
        if (remembered_count_ == kMaxRemembered) return false;
        remembered_[remembered_count_++] = {row_, cfa_register_};
        return true;
      case 0x0b:  // restore_state
        if (remembered_count_ == 0) return false;
        row_ = remembered_[--remembered_count_].row;
        cfa_register_ = remembered_[remembered_count_].cfa_register;
        return true;
      case 0x0c:  // def_cfa
        reg = reader->Uleb();
        SetCfa(reg, static_cast<int64_t>(reader->Uleb()));
        return true;
      case 0x0d:  // def_cfa_register
        SetCfa(reader->Uleb(), row_.cfa_offset);
        return true;
      case 0x0e:  // def_cfa_offset
        SetCfa(cfa_register_, static_cast<int64_t>(reader->Uleb()));
        return true;
      case 0x0f:
        CfaExpression(reader);
        return true;
      case 0x10:  // expression
        reg = reader->Uleb();
        SavedAtExpression(reg, reader);
        return true;
      case 0x11:  // offset_extended_sf
        reg = reader->Uleb();
        SavedAt(reg, reader->Sleb() * cie_.data_align);
        return true;
      case 0x12:  // def_cfa_sf
        reg = reader->Uleb();
        SetCfa(reg, reader->Sleb() * cie_.data_align);
        return true;
      case 0x13:  // def_cfa_offset_sf
        SetCfa(cfa_register_, reader->Sleb() * cie_.data_align);
        return true;
      case 0x14:  // val_offset
      case 0x15:  // val_offset_sf
        Complex(reader->Uleb());
        reader->Uleb();
        return true;
      case 0x16:  // val_expression
        Complex(reader->Uleb());
        Block(reader);
        return true;
      case 0x2e:  // GNU_args_size
        reader->Uleb();
        return true;
      default:
        return false;
    }
  }

  struct Remembered {
    Row row;
    uint64_t cfa_register;
  };

  const Cie& cie_;
  uint64_t location_;
  uint64_t cfa_register_ = ~uint64_t{0};
  Row row_;
  Row before_;  // the last step
  Row initial_;
  Remembered remembered_[kMaxRemembered];
  uint32_t remembered_count_ = 0;
};

FrameRule RuleOf(const Row& row) {
  FrameRule rule;
  rule.kind = FrameKind::kComplex;
  if (!row.has_caller) {
    rule.kind = FrameKind::kOutermost;
    return rule;
  }
  if (row.return_is_complex || row.sp_is_complex || row.bp_is_complex) return rule;
  if (row.cfa_offset != static_cast<int32_t>(row.cfa_offset) ||
      row.bp_offset != static_cast<int16_t>(row.bp_offset)) {
    return rule;
  }
  rule.kind = row.cfa;
  rule.cfa_offset = static_cast<int32_t>(row.cfa_offset);
  rule.bp = row.bp;
  rule.bp_offset = row.bp == BpRule::kSame ? int16_t{0} : static_cast<int16_t>(row.bp_offset);
  return rule;
}

// mov $15, %rax; syscall: the return from a handler. The kernel fixes what is on the stack there.
bool IsSignalReturn(uint64_t pc) {
  static constexpr uint8_t kCode[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  return memcmp(reinterpret_cast<const void*>(pc), kCode, sizeof(kCode)) == 0;
}

}  // namespace

FrameRule ReadRule(const CodeModule& module, uint64_t address) {
  FrameRule complex;
  complex.kind = FrameKind::kComplex;
  Fde fde;
  switch (FindFde(module, address, &fde)) {
    case FdeSearch::kAbsent:
      // Nothing is called from between functions: that a function's very first instruction is
      // returned to was so arranged where the stack was made (makecontext does it).
      if (FindFde(module, address + 1, &fde) == FdeSearch::kFound && fde.start == address + 1) {
        complex.kind = FrameKind::kOutermost;
        return complex;
      }
      return FrameRule();
    case FdeSearch::kDamaged:
      return complex;
    case FdeSearch::kFound:
      break;
  }
  if (fde.cie.is_signal) {
    // The handler's return address is the first instruction; the address asked for is just before.
    if (address + 16 < module.code_end && IsSignalReturn(address + 1)) {
      complex.kind = FrameKind::kSignal;
    }
    return complex;
  }
  Machine machine(fde);
  if (!machine.Run(fde.cie.instructions, UINT64_MAX)) return complex;
  machine.EndOfCie();
  if (!machine.Run(fde.instructions, address)) return complex;
  return RuleOf(machine.row());
}

}  // namespace gputrace::interpose
