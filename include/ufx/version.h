/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Version of the headers, export marks, and the version of the loaded library.
 *
 * Thread rule: everything here may be called from any thread. No callbacks.
 */
#ifndef UFX_VERSION_H
#define UFX_VERSION_H

#define UFX_VERSION_MAJOR 0
#define UFX_VERSION_MINOR 1
#define UFX_VERSION_PATCH 0
#define UFX_VERSION_STRING "0.1.0"

/** Version of the binary interface between libufx_uct and transport modules. */
#define UFX_UCT_ABI_VERSION 1u

/** Mark of every exported symbol; all others are hidden. */
#define UFX_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define UFX_NOEXCEPT noexcept
#else
#define UFX_NOEXCEPT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Version of the library in this process, which may be newer than the headers.
 *
 * @param major, minor, patch  each written if not NULL
 */
UFX_API void ufx_ucs_version(unsigned *major, unsigned *minor, unsigned *patch) UFX_NOEXCEPT;

/** Version of the library as text, such as "0.1.0"; static, never NULL. */
UFX_API const char *ufx_ucs_version_string(void) UFX_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
