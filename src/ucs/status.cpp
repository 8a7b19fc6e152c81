// SPDX-License-Identifier: BSD-3-Clause
// Names and sentences of the status codes.
#include <ufx/status.h>

namespace {

struct status_text {
    ufx_status_t status;
    const char *name;
    const char *sentence;
};

constexpr status_text texts[] = {
    {UFX_OK, "OK", "Success"},
    {UFX_INPROGRESS, "INPROGRESS", "Accepted; the completion is still to come"},
    {UFX_ERR_NO_MESSAGE, "NO_MESSAGE", "Nothing to deliver now; call again later"},
    {UFX_ERR_NO_RESOURCE, "NO_RESOURCE", "Queue or credits full; retry after progress"},
    {UFX_ERR_NO_MEMORY, "NO_MEMORY", "Out of memory"},
    {UFX_ERR_INVALID_PARAM, "INVALID_PARAM", "An argument is out of range or missing"},
    {UFX_ERR_UNSUPPORTED, "UNSUPPORTED", "Not supported by this transport or build"},
    {UFX_ERR_NO_ELEM, "NO_ELEM", "No such element"},
    {UFX_ERR_ALREADY_EXISTS, "ALREADY_EXISTS", "Exists already"},
    {UFX_ERR_BUSY, "BUSY", "In use, or events are pending; progress, then retry"},
    {UFX_ERR_NO_DEVICE, "NO_DEVICE", "No such device, or it has gone"},
    {UFX_ERR_IO, "IO", "System call or device failed; see the log"},
    {UFX_ERR_VERSION, "VERSION", "The peer or module speaks another version"},
    {UFX_ERR_BUFFER_TOO_SMALL, "BUFFER_TOO_SMALL", "The output buffer is too small"},
    {UFX_ERR_BAD_MESSAGE, "BAD_MESSAGE", "Bytes from a peer or file do not parse"},
    {UFX_ERR_REJECTED, "REJECTED", "The peer refused"},
    {UFX_ERR_SHUTDOWN, "SHUTDOWN", "The object is closing or closed"},
    {UFX_ERR_CONNECTION_RESET, "CONNECTION_RESET", "The connection of the endpoint broke"},
    {UFX_ERR_ENDPOINT_TIMEOUT, "ENDPOINT_TIMEOUT", "The transport gave up on the endpoint"},
    {UFX_ERR_NET_UNREACHABLE, "NET_UNREACHABLE", "No route, link down, or address gone"},
    {UFX_ERR_PURGED, "PURGED", "The operation was purged with its endpoint"},
    {UFX_ERR_CANCELED, "CANCELED", "Canceled by the user"},
    {UFX_ERR_TIMEOUT, "TIMEOUT", "The deadline of the operation passed"},
    {UFX_ERR_UNREACHABLE, "UNREACHABLE", "No rail to the peer, or the peer is dead"},
    {UFX_ERR_AMBIGUOUS, "AMBIGUOUS", "May or may not have been applied; must not be repeated"},
    {UFX_ERR_REMOTE_ACCESS, "REMOTE_ACCESS", "The target refused key, range or rights"},
    {UFX_ERR_LOCAL_PROT, "LOCAL_PROT", "The local buffer is not accessible"},
};

const status_text *find_text(ufx_status_t status) noexcept
{
    for (const status_text &one : texts) {
        if (one.status == status) {
            return &one;
        }
    }
    return nullptr;
}

} // namespace

const char *ufx_ucs_status_name(ufx_status_t status) noexcept
{
    const status_text *text = find_text(status);
    return text == nullptr ? "UNKNOWN" : text->name;
}

const char *ufx_ucs_status_string(ufx_status_t status) noexcept
{
    const status_text *text = find_text(status);
    return text == nullptr ? "Unknown status" : text->sentence;
}
