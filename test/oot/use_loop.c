/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists the components of this process, then moves bytes through the one called "loop".
 */
#include <ufx/uct.h>

#include <stdio.h>
#include <string.h>

static int calls;

static void on_done(ufx_uct_completion_t *comp)
{
    (void)comp;
    ++calls;
}

#define EXPECT(_condition)                                                                         \
    do {                                                                                           \
        if (!(_condition)) {                                                                       \
            printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #_condition);                  \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main(void)
{
    const ufx_uct_component_t **components;
    const ufx_uct_component_t *loop;
    ufx_uct_iface_params_t iface_params = {0};
    ufx_uct_ep_params_t ep_params = {0};
    ufx_uct_completion_t comp = {on_done, 1, UFX_OK};
    ufx_uct_completion_t flush = {on_done, 1, UFX_OK};
    ufx_uct_worker_h worker;
    ufx_uct_md_h md;
    ufx_uct_iface_h iface;
    ufx_uct_ep_h ep;
    size_t count;
    uint32_t addr;
    char from[100] = "out of tree";
    char to[100] = "";
    ufx_uct_iov_t iov = {from, sizeof(from), NULL};

    EXPECT(ufx_uct_query_components(&components, &count) == UFX_OK);
    for (size_t i = 0; i < count; ++i) {
        printf("component %s\n", components[i]->name);
    }
    ufx_uct_release_component_list(components);

    EXPECT(ufx_uct_find_component("self", &loop) == UFX_OK);
    EXPECT(ufx_uct_find_component("loop", &loop) == UFX_OK);
    EXPECT(ufx_uct_md_open(loop, "loop", NULL, &md) == UFX_OK);
    EXPECT(ufx_uct_worker_create(&worker) == UFX_OK);
    iface_params.field_mask =
        UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME | UFX_UCT_IFACE_PARAM_WORKER;
    iface_params.tl_name = "loop";
    iface_params.dev_name = "memory";
    iface_params.worker = worker;
    EXPECT(ufx_uct_iface_open(md, &iface_params, &iface) == UFX_OK);
    EXPECT(ufx_uct_iface_get_address(iface, &addr) == UFX_OK);
    ep_params.field_mask = UFX_UCT_EP_PARAM_IFACE_ADDR;
    ep_params.iface_addr = &addr;
    EXPECT(ufx_uct_ep_create(iface, &ep_params, &ep) == UFX_OK);
    EXPECT(ufx_uct_ep_put_zcopy(ep, &iov, 1, (uint64_t)(uintptr_t)to, 0, &comp) == UFX_INPROGRESS);
    EXPECT(ufx_uct_ep_flush(ep, UFX_UCT_FLUSH_REMOTE, &flush) == UFX_INPROGRESS);
    EXPECT(calls == 0);
    while (calls < 2) {
        ufx_uct_worker_progress(worker);
    }
    EXPECT(memcmp(from, to, sizeof(to)) == 0);
    EXPECT(ufx_uct_ep_am_short(ep, 0, 0, NULL, 0) == UFX_ERR_UNSUPPORTED);
    EXPECT(ufx_uct_ep_outstanding_purge(ep, UFX_UCT_GRADE_BLIND, NULL, 0, NULL, NULL) ==
           UFX_ERR_UNSUPPORTED);
    ufx_uct_ep_destroy(ep);
    ufx_uct_iface_close(iface);
    ufx_uct_md_close(md);
    ufx_uct_worker_destroy(worker);
    printf("the loop transport works\n");
    return 0;
}
