// SPDX-License-Identifier: BSD-3-Clause
// What a user may have meant by a word that is none of those that there are.
#ifndef UFX_TOOLS_COMMON_NEAREST_H
#define UFX_TOOLS_COMMON_NEAREST_H

#include <string>
#include <vector>

namespace ufx::tools {

using word_list = std::vector<std::string>;

/** The known word that is a slip of the finger away from `word`; "" if none is. */
std::string nearest(const std::string &word, const word_list &known);

/** "; did you mean 'drain'?", or "" if no known word is near. */
std::string did_you_mean(const std::string &word, const word_list &known);

/** "'bcpoy' is none of short, bcopy, zcopy; did you mean 'bcopy'?" */
std::string none_of(const std::string &word, const word_list &known);

} // namespace ufx::tools

#endif
