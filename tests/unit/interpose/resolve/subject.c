/* SPDX-License-Identifier: Apache-2.0
 * Symbols of every sort: a function, data, two versions of a function, an indirect one. */
int subject_answer(void) { return 42; }
int subject_data = 5;

int versioned_old(void) { return 1; }
int versioned_new(void) { return 2; }
__asm__(".symver versioned_old, subject_versioned@SUBJECT_1");
__asm__(".symver versioned_new, subject_versioned@@SUBJECT_2");

static int chosen(void) { return 7; }
static int (*choose(void))(void) { return chosen; }
int subject_indirect(void) __attribute__((ifunc("choose")));

static int hidden(void) { return 3; }
void* subject_hidden_address(void) { return (void*)hidden; }
