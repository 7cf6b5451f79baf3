// SPDX-License-Identifier: Apache-2.0
// Does nothing itself: what it is linked to does.
int main() { return 0; }
