# SPDX-License-Identifier: BSD-3-Clause
# UFX_LINKER: a library names all that it needs (-z defs). Sanitizers leave their runtime to the
# program, so they are linked without it.
AC_DEFUN([UFX_LINKER], [
    UFX_LIB_LDFLAGS=
    AM_COND_IF([SANITIZED], [], [UFX_LIB_LDFLAGS="-Wl,-z,defs"])
    AC_SUBST([UFX_LIB_LDFLAGS])
])
