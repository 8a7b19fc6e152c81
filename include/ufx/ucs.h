/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Process-wide services: the log, the clock, configuration rows, trace points.
 *
 * ABI version 1. Thread rule: everything here may be called from any thread, except where a call
 * says otherwise. Callbacks run inside the call that they were given to, or, for the log handler
 * and the clock, inside whichever UFX call logs or reads the time; they must not call back into
 * UFX. Strings are UTF-8 and end with NUL.
 */
#ifndef UFX_UCS_H
#define UFX_UCS_H

#include <ufx/status.h>
#include <ufx/version.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Levels of the log, most severe first; a level includes all above it. */
typedef enum ufx_ucs_log_level {
    UFX_UCS_LOG_FATAL = 0, /**< the process cannot go on */
    UFX_UCS_LOG_ERROR = 1, /**< something that was asked for failed */
    UFX_UCS_LOG_WARN = 2,  /**< the default: works, but not as intended */
    UFX_UCS_LOG_INFO = 3,  /**< what was chosen, state changes */
    UFX_UCS_LOG_DEBUG = 4, /**< for the developers of a transport or of UFX */
    UFX_UCS_LOG_TRACE = 5  /**< every operation */
} ufx_ucs_log_level_t;

/**
 * Receives every log line that passes the level.
 *
 * @param arg      as given to ufx_ucs_log_set_handler()
 * @param level    level of this line
 * @param file     source file, without folders; static
 * @param line     line in it, from 1
 * @param message  text without newline; valid during the call
 *
 * Calls are serialized. A line that is logged from inside a handler goes to the default output.
 */
typedef void (*ufx_ucs_log_handler_t)(void *arg, ufx_ucs_log_level_t level, const char *file,
                                      unsigned line, const char *message);

/**
 * Write one line to the log if `level` is enabled.
 *
 * @param level   severity
 * @param file    source file; folders in it are not shown; static
 * @param line    line in it
 * @param format  as printf(); at most 1023 bytes of text are kept
 */
UFX_API void ufx_ucs_log(ufx_ucs_log_level_t level, const char *file, unsigned line,
                         const char *format, ...) UFX_NOEXCEPT
    __attribute__((format(printf, 4, 5)));

/**
 * Send log lines to a handler instead of stderr or `UFX_LOG_FILE`.
 *
 * @param handler  called for every line until replaced; NULL restores the default output. When
 *                 the call returns, the earlier handler is not running and will not run again.
 * @param arg      passed to it; must live until the handler is replaced
 */
UFX_API void ufx_ucs_log_set_handler(ufx_ucs_log_handler_t handler, void *arg) UFX_NOEXCEPT;

/** Set the level; overrides `UFX_LOG_LEVEL`. @param level  lines above it are dropped */
UFX_API void ufx_ucs_log_set_level(ufx_ucs_log_level_t level) UFX_NOEXCEPT;

/** Level in effect: the last one set, else `UFX_LOG_LEVEL`, else WARN. */
UFX_API ufx_ucs_log_level_t ufx_ucs_log_get_level(void) UFX_NOEXCEPT;

/** Name of a level, such as "WARN"; static, never NULL. */
UFX_API const char *ufx_ucs_log_level_name(ufx_ucs_log_level_t level) UFX_NOEXCEPT;

/** A source of time. @param arg as given to ufx_ucs_clock_set() @return nanoseconds, monotonic */
typedef uint64_t (*ufx_ucs_clock_fn_t)(void *arg);

/** Time by which UFX measures, in nanoseconds: CLOCK_MONOTONIC unless replaced. */
UFX_API uint64_t ufx_ucs_time_ns(void) UFX_NOEXCEPT;

/**
 * Replace the clock of this process, for tests.
 *
 * @param fn   called for every reading, from any thread; NULL restores CLOCK_MONOTONIC
 * @param arg  passed to it; must live until the clock is replaced
 *
 * Not thread-safe against threads that read the time: call it while none runs.
 */
UFX_API void ufx_ucs_clock_set(ufx_ucs_clock_fn_t fn, void *arg) UFX_NOEXCEPT;

/** Where the value of a configuration row comes from; later ones win. */
typedef enum ufx_ucs_config_source {
    UFX_UCS_CONFIG_DEFAULT = 0,    /**< built in; also when the value given was refused */
    UFX_UCS_CONFIG_FILE = 1,       /**< `UFX_CONFIG_FILE`, else $sysconfdir/ufx.conf */
    UFX_UCS_CONFIG_ENVIRONMENT = 2 /**< a variable of the row's name */
} ufx_ucs_config_source_t;

/** One configuration row. Strings live as long as the process. */
typedef struct ufx_ucs_config_row {
    size_t size;               /**< sizeof of this struct, as its writer knows it */
    const char *name;          /**< full name, such as "UFX_TCP_SEG_SIZE" */
    const char *type;          /**< type and range for people, such as "size, 1kb..1mb" */
    const char *default_value; /**< as text; "" if empty */
    const char *help;          /**< one or more sentences */
} ufx_ucs_config_row_t;

/**
 * Make rows known, so that they are printed and their names are not called unknown.
 *
 * @param title  name of the group, such as "tcp"; copied
 * @param row    copied; a name that is known already is ignored
 * @return OK; INVALID_PARAM for missing strings or a name that does not start with "UFX_";
 *         NO_MEMORY
 */
UFX_API ufx_status_t ufx_ucs_config_register(const char *title,
                                             const ufx_ucs_config_row_t *row) UFX_NOEXCEPT;

/**
 * Text that the user gave for a name, in the environment or in the configuration file.
 *
 * @param name    full name
 * @param source  written if not NULL: where the text is from; DEFAULT when there is none
 * @return the text, unchecked, or NULL if the user gave none. It is valid until the environment
 *         is changed or ufx_ucs_config_reload() is called.
 */
UFX_API const char *ufx_ucs_config_get(const char *name,
                                       ufx_ucs_config_source_t *source) UFX_NOEXCEPT;

/**
 * Say that the text given for a name cannot be used; the first time per name and text this
 * writes one WARN line. The row is shown with its default from then on.
 *
 * @param name   full name
 * @param value  the refused text
 * @param why    reason, such as "not a number"
 */
UFX_API void ufx_ucs_config_reject(const char *name, const char *value,
                                   const char *why) UFX_NOEXCEPT;

/**
 * Warn, once per name, about names in the environment and the configuration file that start with
 * "UFX_" and that no row has. Names that start with "UFX_TEST_" are left alone.
 *
 * @return number of unknown names, warned about now or earlier
 */
UFX_API unsigned ufx_ucs_config_check_unknown(void) UFX_NOEXCEPT;

/** Forget the configuration file, the warnings given, and the log level; all are read again. */
UFX_API void ufx_ucs_config_reload(void) UFX_NOEXCEPT;

/**
 * Receives one row. @param arg as given @param title group @param row the row
 * @param value text in effect @param source where it is from. Pointers are valid during the call.
 */
typedef void (*ufx_ucs_config_row_cb_t)(void *arg, const char *title,
                                        const ufx_ucs_config_row_t *row, const char *value,
                                        ufx_ucs_config_source_t source);

/** Call `cb` for every known row, by group in the order of registration. */
UFX_API void ufx_ucs_config_iterate(ufx_ucs_config_row_cb_t cb, void *arg) UFX_NOEXCEPT;

/** What ufx_ucs_config_print() shows. */
enum {
    UFX_UCS_CONFIG_PRINT_HELP = 1u << 0,        /**< help, type, default and source of each row */
    UFX_UCS_CONFIG_PRINT_CHANGED_ONLY = 1u << 1 /**< only rows that the user has set */
};

/**
 * Print all known rows as `NAME=value` lines, in a form that the configuration file takes; rows
 * that only the environment may set are comments.
 *
 * @param stream  open for writing
 * @param flags   UFX_UCS_CONFIG_PRINT_*, or 0
 */
UFX_API void ufx_ucs_config_print(FILE *stream, unsigned flags) UFX_NOEXCEPT;

/**
 * Report that a named point was reached. If `UFX_TRACE_STOP` names it (`name` or `name:count`,
 * the count-th time), the process writes "name\n" to the descriptor `UFX_TRACE_FD`, if set, and
 * stops itself by SIGSTOP, or by SIGKILL if `UFX_TRACE_KILL` is `y`. Tests use it to end a
 * process in a known phase.
 *
 * @param name  static
 */
UFX_API void ufx_ucs_trace_hit(const char *name) UFX_NOEXCEPT;

/** Told of each point that is reached, inside the call that reaches it; must not call UFX back. */
typedef void (*ufx_ucs_trace_hook_t)(void *arg, const char *name);

/**
 * Watch the trace points of this process, beside what `UFX_TRACE_STOP` says. One hook at a time;
 * returns when no other thread is inside the one before.
 *
 * @param hook  NULL: none any more
 * @param arg   given to it
 */
UFX_API void ufx_ucs_trace_set_hook(ufx_ucs_trace_hook_t hook, void *arg) UFX_NOEXCEPT;

/** Read `UFX_TRACE_*` and the counts again, as after start; for children made by fork(). */
UFX_API void ufx_ucs_trace_reset(void) UFX_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
