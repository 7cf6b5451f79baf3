/* SPDX-License-Identifier: Apache-2.0
 * A library that depends on another. */
int user_answer(void) { return 1; }
