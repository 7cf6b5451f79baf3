/* SPDX-License-Identifier: Apache-2.0
 * Included in front of everything that is linked into libgputrace.so, so that a library built on a
 * new glibc also loads on one of 2018 (2.28).
 *
 * glibc 2.34 moved libpthread and libdl into libc and gave their functions a new symbol version.
 * The old version is still there under the same names. They are weak since, before 2.34, a process
 * without libpthread does not have them. */
#ifndef GPUTRACE_CMAKE_GLIBC_COMPAT_H_
#define GPUTRACE_CMAKE_GLIBC_COMPAT_H_

#if defined(__linux__) && defined(__x86_64__) && !defined(__ASSEMBLER__)
#define GPUTRACE_OLD_SYMBOL(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5\n.weak " #name)
GPUTRACE_OLD_SYMBOL(pthread_once);
GPUTRACE_OLD_SYMBOL(pthread_key_create);
GPUTRACE_OLD_SYMBOL(pthread_key_delete);
GPUTRACE_OLD_SYMBOL(pthread_setspecific);
GPUTRACE_OLD_SYMBOL(pthread_getspecific);
#undef GPUTRACE_OLD_SYMBOL
#endif

#endif /* GPUTRACE_CMAKE_GLIBC_COMPAT_H_ */
