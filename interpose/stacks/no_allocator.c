/* SPDX-License-Identifier: Apache-2.0
 * The program's allocator is out of bounds for the tracer: programs replace it, and may be inside of it
 * when they are traced. zstd is given its memory and libunwind maps its own; what remains in them of
 * references to malloc ends here, and would get no memory. */
#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void* malloc(__SIZE_TYPE__ size);
HIDDEN void* calloc(__SIZE_TYPE__ count, __SIZE_TYPE__ size);
HIDDEN void free(void* memory);

void* malloc(__SIZE_TYPE__ size) {
  (void)size;
  return (void*)0;
}

void* calloc(__SIZE_TYPE__ count, __SIZE_TYPE__ size) {
  (void)count;
  (void)size;
  return (void*)0;
}

void free(void* memory) { (void)memory; }
