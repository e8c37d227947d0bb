// SPDX-License-Identifier: MIT
int overridden(void) { return 100; }
