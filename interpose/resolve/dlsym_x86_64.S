/* SPDX-License-Identifier: Apache-2.0
 * dlsym and dlvsym. Both ask gputrace_filter_dlsym(handle, symbol, version or NULL, return address);
 * if that has an answer they return it, else they jump to the real function with the arguments and the
 * stack as they were. A call instead of the jump would make this library the caller in libc's eyes. */

    .macro OVERRIDE name, real, has_version
    .text
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    movq 24(%rsp), %rcx
    .if !\has_version
    xorl %edx, %edx
    .endif
    call gputrace_filter_dlsym
    movq %rdx, %rcx
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rcx, %rcx
    jz 1f
    ret
1:
    jmp *\real(%rip)
    .cfi_endproc
    .size \name, . - \name
    .endm

    OVERRIDE dlsym, gputrace_real_dlsym, 0
    OVERRIDE dlvsym, gputrace_real_dlvsym, 1

    .section .note.GNU-stack, "", @progbits
