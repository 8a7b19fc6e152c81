// SPDX-License-Identifier: BSD-3-Clause
// Distance of words: letters that are missing, added, wrong, or swapped with their neighbour.
#include "tools/common/nearest.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace ufx::tools {

namespace {

std::string lower(std::string word)
{
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return word;
}

size_t distance(const std::string &a, const std::string &b)
{
    // before[j], row[j]: of the letters of `a` so far, and the first j of `b`.
    std::vector<size_t> oldest, before, row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.size(); i++) {
        oldest = std::move(before);
        before = row;
        row[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            row[j] = std::min(
                {before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], oldest[j - 2] + 1);
            }
        }
    }
    return row[b.size()];
}

} // namespace

std::string nearest(const std::string &word, const word_list &known)
{
    // Farther away, or of two letters, it is another word.
    size_t best_distance = word.size() / 3 + 1;
    std::string best;
    for (const std::string &one : known) {
        const size_t away = distance(lower(word), lower(one));
        if (away < best_distance) {
            best_distance = away;
            best = one;
        }
    }
    return best;
}

std::string did_you_mean(const std::string &word, const word_list &known)
{
    const std::string one = nearest(word, known);
    return one.empty() ? "" : "; did you mean '" + one + "'?";
}

std::string none_of(const std::string &word, const word_list &known)
{
    std::string all;
    for (const std::string &one : known) {
        all += (all.empty() ? "" : ", ") + one;
    }
    return "'" + word + "' is none of " + all + did_you_mean(word, known);
}

} // namespace ufx::tools
