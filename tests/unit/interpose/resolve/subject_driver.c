/* SPDX-License-Identifier: Apache-2.0
 * A driver with three ABIs of one function, the last newer than the table, and functions that it does
 * not export. */
int cuMemAlloc(void) { return 1; }
int cuMemAlloc_v2(void) { return 2; }
int cuMemAlloc_v3(void) { return 3; }
int cuMemFree_v2(void) { return 4; }

static int private_allocate(void) { return 5; }
static int private_allocate_per_thread(void) { return 6; }
void* private_address(void) { return (void*)private_allocate; }
void* private_per_thread_address(void) { return (void*)private_allocate_per_thread; }
