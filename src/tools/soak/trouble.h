// SPDX-License-Identifier: BSD-3-Clause
// trouble: random faults of the rails between two ends, one after the other, each mended in time.
#ifndef UFX_TOOLS_SOAK_TROUBLE_H
#define UFX_TOOLS_SOAK_TROUBLE_H

#include "tools/common/ucp_session.h"
#include "tools/failover/fault_line.h"

#include <array>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace ufx::tools::soak {

class trouble {
public:
    /**
     * Rails that are devices of a fabric of the software ConnectX get its faults; others are cut.
     * @param storm  up to three at a time, of more kinds, and of any length up to a second; rails
     * are cut and drained, too
     */
    trouble(ucp_session &first, ucp_session &second, const std::array<std::string, 2> &rails,
            bool storm);

    /** Begins and ends what is due. */
    void step(uint64_t now, std::mt19937_64 &chance);
    /** The next one begins with the next step. */
    void hurry() { due_ = 1; }
    /** Ends all of it. */
    void mend();

    uint64_t count() const { return count_; }

private:
    bool ends_now(std::mt19937_64 &chance) const;
    uint64_t pause_ms(unsigned least, unsigned span, std::mt19937_64 &chance) const;
    void begin(std::mt19937_64 &chance);
    void cut(std::mt19937_64 &chance);
    void drain(std::mt19937_64 &chance);
    void set_link(unsigned end, const std::string &rail, int up);

    std::array<ucp_session *, 2> ends_;
    std::array<std::vector<int>, 2> devices_;
    std::unique_ptr<failover::fault_line> line_; ///< NULL: no rail is of a fabric
    std::vector<std::string> mends_;             ///< of what is under way
    std::vector<std::pair<unsigned, std::string>> drained_; ///< end and rail
    bool is_cut_ = false;
    bool storm_;
    unsigned under_way_ = 0;
    uint64_t due_ = 0;
    uint64_t count_ = 0;
};

} // namespace ufx::tools::soak

#endif
