/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the leak checker: what an unloaded driver or layer lost, or held in a global, has no name
 * that tests/lsan.supp could match. Here nothing is ever unloaded.
 */
__attribute__((visibility("default"))) int dlclose(void *library);

int dlclose(void *library)
{
    (void)library;
    return 0;
}
