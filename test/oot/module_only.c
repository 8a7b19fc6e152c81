/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads nothing but a transport module, and drives it: put_zcopy, flush, then a failure whose
 * handler says IN_PROGRESS, and outstanding_purge with the peer's token. Needs no libufx_uct.
 *
 * Usage: module_only MODULE TRANSPORT DEVICE-PREFIX
 */
#include <ufx/uct.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PUTS 8
#define SIZE ((size_t)256 * 1024)

#define EXPECT(_condition)                                                                         \
    do {                                                                                           \
        if (!(_condition)) {                                                                       \
            printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #_condition);                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct side {
    ufx_uct_md_h md;
    ufx_uct_iface_h iface;
    ufx_uct_ep_h ep;
    ufx_uct_iface_attr_t attr;
    int errors;
};

static int completions;
static int handed;
static int landed;
static unsigned char *target;

static void on_done(ufx_uct_completion_t *comp)
{
    EXPECT(comp->status == UFX_OK);
    ++completions;
}

static ufx_status_t on_error(void *arg, ufx_uct_ep_h ep, const ufx_uct_error_t *error)
{
    (void)ep;
    printf("error: %s\n", error->text);
    ++((struct side *)arg)->errors;
    return UFX_INPROGRESS;
}

/* Every verdict is held against the memory. */
static ufx_status_t on_op(void *arg, const ufx_uct_op_desc_t *op, ufx_uct_verdict_t verdict,
                          size_t bytes)
{
    const unsigned char *at = (const unsigned char *)(uintptr_t)op->remote_addr;
    size_t written = 0;
    EXPECT(arg == &handed);
    if (op->kind != UFX_UCT_OP_PUT) {
        return UFX_OK; /* a flush */
    }
    ++handed;
    for (size_t i = 0; i < op->length; ++i) {
        written += at[i] == 0xa5;
    }
    EXPECT(op->iov_count == 1 && op->comp != NULL);
    switch (verdict) {
    case UFX_UCT_VERDICT_LANDED:
        ++landed;
        EXPECT(written == op->length);
        break;
    case UFX_UCT_VERDICT_PARTIAL:
        EXPECT(written == bytes && bytes < op->length);
        break;
    default:
        EXPECT(verdict == UFX_UCT_VERDICT_NOT_LANDED && written == 0);
    }
    return UFX_OK;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void open_side(struct side *side, const ufx_uct_component_t *component, const char *tl,
                      const char *prefix)
{
    ufx_uct_md_resource_t md_name[8];
    ufx_uct_resource_t resources[64];
    ufx_uct_iface_params_t params = {0};
    size_t count = 8;
    EXPECT(ufx_uct_component_query_mds(component, md_name, &count) == UFX_OK && count > 0);
    EXPECT(ufx_uct_md_open(component, md_name[0].md_name, NULL, &side->md) == UFX_OK);
    count = 64;
    EXPECT(ufx_uct_md_query_resources(side->md, resources, &count) == UFX_OK);
    for (size_t i = 0; i < count && params.tl_name == NULL; ++i) {
        if (strcmp(resources[i].tl_name, tl) == 0 &&
            strncmp(resources[i].dev_name, prefix, strlen(prefix)) == 0) {
            params.tl_name = tl;
            params.dev_name = resources[i].dev_name;
        }
    }
    EXPECT(params.tl_name != NULL);
    params.field_mask = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME |
                        UFX_UCT_IFACE_PARAM_ERR_HANDLER;
    params.err_handler = on_error;
    params.err_handler_arg = side;
    EXPECT(ufx_uct_iface_open(side->md, &params, &side->iface) == UFX_OK);
    EXPECT(ufx_uct_iface_query(side->iface, &side->attr) == UFX_OK);
    EXPECT(ufx_uct_ep_create(side->iface, NULL, &side->ep) == UFX_OK);
}

static void connect_sides(struct side *from, struct side *to)
{
    unsigned char device[UFX_UCT_ADDR_MAX];
    unsigned char iface[UFX_UCT_ADDR_MAX];
    unsigned char ep[UFX_UCT_ADDR_MAX];
    EXPECT(ufx_uct_iface_get_device_address(to->iface, device) == UFX_OK);
    EXPECT(ufx_uct_iface_get_address(to->iface, iface) == UFX_OK);
    EXPECT(ufx_uct_ep_get_address(to->ep, ep) == UFX_OK);
    EXPECT(ufx_uct_iface_is_reachable(from->iface, device, iface));
    EXPECT(ufx_uct_ep_connect_to_ep(from->ep, device, iface, ep) == UFX_OK);
}

static ufx_uct_ep_state_t state(const struct side *side)
{
    ufx_uct_ep_attr_t attr = {.field_mask = UFX_UCT_EP_ATTR_STATE};
    EXPECT(ufx_uct_ep_query(side->ep, &attr) == UFX_OK);
    return attr.state;
}

static void progress(struct side *a, struct side *b, double deadline)
{
    ufx_uct_iface_progress(a->iface);
    ufx_uct_iface_progress(b->iface);
    EXPECT(seconds() < deadline);
}

static ufx_uct_rkey_t share(struct side *owner, struct side *user, ufx_uct_mem_h *memh,
                            ufx_uct_rkey_bundle_t *bundle)
{
    ufx_uct_mem_params_t params = {0};
    ufx_uct_md_attr_t attr;
    unsigned char packed[UFX_UCT_ADDR_MAX];
    params.field_mask = UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH;
    params.address = target;
    params.length = PUTS * SIZE;
    EXPECT(ufx_uct_md_query(owner->md, &attr) == UFX_OK);
    EXPECT(ufx_uct_md_mem_reg(owner->md, &params, memh) == UFX_OK);
    EXPECT(ufx_uct_md_mkey_pack(owner->md, *memh, packed) == UFX_OK);
    EXPECT(ufx_uct_md_rkey_unpack(user->md, packed, attr.rkey_packed_size, bundle) == UFX_OK);
    return bundle->rkey;
}

int main(int argc, char **argv)
{
    static struct side a;
    static struct side b;
    const ufx_uct_component_t *component;
    ufx_uct_completion_t comps[PUTS];
    ufx_uct_completion_t flush = {on_done, 1, UFX_OK};
    ufx_uct_ep_attr_t attr = {.field_mask = UFX_UCT_EP_ATTR_TX_TOKEN};
    unsigned char *source = malloc(SIZE);
    ufx_uct_iov_t iov = {source, SIZE, NULL};
    ufx_uct_rkey_bundle_t bundle;
    ufx_uct_token_grade_t grade;
    ufx_uct_module_init_t init;
    ufx_uct_mem_h memh;
    ufx_uct_rkey_t rkey;
    unsigned char token[UFX_UCT_TOKEN_MAX];
    size_t token_length;
    double deadline = seconds() + 30;
    void *module;

    EXPECT(argc == 4 && source != NULL);
    module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (module == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    *(void **)&init = dlsym(module, UFX_UCT_MODULE_INIT);
    EXPECT(init != NULL);
    EXPECT(init(UFX_UCT_ABI_VERSION + 1, NULL, &component) == UFX_ERR_VERSION);
    EXPECT(init(UFX_UCT_ABI_VERSION, NULL, &component) == UFX_OK);

    open_side(&a, component, argv[2], argv[3]);
    open_side(&b, component, argv[2], argv[3]);
    connect_sides(&a, &b);
    connect_sides(&b, &a);
    while (state(&a) != UFX_UCT_EP_LIVE || state(&b) != UFX_UCT_EP_LIVE) {
        progress(&a, &b, deadline);
    }

    /* All is well: a put completes, a flush too. */
    target = calloc(PUTS, SIZE);
    EXPECT(target != NULL);
    rkey = share(&b, &a, &memh, &bundle);
    memset(source, 0xa5, SIZE);
    comps[0] = (ufx_uct_completion_t){on_done, 1, UFX_OK};
    EXPECT(ufx_uct_ep_put_zcopy(a.ep, &iov, 1, (uintptr_t)target, rkey, &comps[0]) ==
           UFX_INPROGRESS);
    EXPECT(ufx_uct_ep_flush(a.ep, UFX_UCT_FLUSH_REMOTE, &flush) == UFX_INPROGRESS);
    while (completions < 2) {
        progress(&a, &b, deadline);
    }
    EXPECT(memcmp(target, source, SIZE) == 0);

    /* The link of b goes in the middle of eight more; a's handler keeps them. */
    memset(target, 0, PUTS * SIZE);
    for (int i = 0; i < PUTS; ++i) {
        comps[i] = (ufx_uct_completion_t){on_done, 1, UFX_OK};
        EXPECT(ufx_uct_ep_put_zcopy(a.ep, &iov, 1, (uintptr_t)(target + (size_t)i * SIZE), rkey,
                                    &comps[i]) == UFX_INPROGRESS);
    }
    progress(&a, &b, deadline);
    EXPECT(ufx_uct_iface_set_link(b.iface, 0) == UFX_OK);
    while (a.errors == 0 || b.errors == 0) {
        progress(&a, &b, deadline);
    }
    EXPECT(state(&a) == UFX_UCT_EP_DEFERRED);
    EXPECT(ufx_uct_ep_put_zcopy(a.ep, &iov, 1, (uintptr_t)target, rkey, &comps[0]) < 0);

    EXPECT(ufx_uct_ep_query(a.ep, &attr) == UFX_OK);
    EXPECT(ufx_uct_iface_query_token(b.iface, attr.tx_token, attr.tx_token_len, token,
                                     &token_length, &grade) == UFX_OK);
    EXPECT(grade == UFX_UCT_GRADE_EXACT);
    EXPECT(ufx_uct_ep_outstanding_purge(a.ep, grade, token, token_length, on_op, &handed) ==
           UFX_OK);
    EXPECT(state(&a) == UFX_UCT_EP_PURGED);
    EXPECT(completions - 2 + handed == PUTS && handed > 0);
    printf("%d completed, %d handed out, %d of them landed\n", completions - 2, handed, landed);

    ufx_uct_md_rkey_release(a.md, &bundle);
    ufx_uct_ep_destroy(a.ep);
    ufx_uct_ep_destroy(b.ep);
    EXPECT(ufx_uct_md_mem_dereg(b.md, memh) == UFX_OK);
    ufx_uct_iface_close(a.iface);
    ufx_uct_iface_close(b.iface);
    ufx_uct_md_close(a.md);
    ufx_uct_md_close(b.md);
    free(source);
    free(target);
    printf("the module works alone\n");
    return 0;
}
