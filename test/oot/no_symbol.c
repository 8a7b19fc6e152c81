/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A library that is no module: the entry is missing.
 */
int ufx_oot_no_entry(void);

int ufx_oot_no_entry(void)
{
    return 0;
}
