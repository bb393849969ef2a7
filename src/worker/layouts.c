/* worker/layouts.c - layouts that the peers of one process share. */
#include "worker/layouts.h"

#include "base/alloc.h"

void dcli_layouts_init(dcli_layouts *layouts)
{
    layouts->first = NULL;
    pthread_mutex_init(&layouts->lock, NULL);
}

void dcli_layouts_free(dcli_layouts *layouts) { pthread_mutex_destroy(&layouts->lock); }

static bool equal_layouts(const dcli_layout *a, const dcli_layout *b)
{
    return dcli_grid_equal(&a->grid, &b->grid) && dcli_map_rule_equal(&a->rule, &b->rule) &&
           a->rule.tile_bytes == b->rule.tile_bytes && a->rule.block_bytes == b->rule.block_bytes && a->lead == b->lead;
}

const dcli_layout *dcli_layouts_share(dcli_layouts *layouts, const dcli_layout *layout)
{
    dcli_common_layout *fresh = dcli_calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        dcli_layout_release(layout);
        return NULL;
    }
    pthread_mutex_lock(&layouts->lock);
    dcli_common_layout *common = layouts->first;
    while (common != NULL && !equal_layouts(&common->layout, layout))
        common = common->next;
    if (common == NULL) {
        common = fresh;
        common->layout = *layout; /* takes over its tables, too */
        common->next = layouts->first;
        layouts->first = common;
    }
    common->uses++;
    pthread_mutex_unlock(&layouts->lock);
    if (common != fresh) {
        dcli_layout_release(layout);
        dcli_free(fresh);
    }
    return &common->layout;
}

/* End a use of a layout. @return the layout, removed from the list, if that was the last use; else NULL. */
static dcli_common_layout *take_off(dcli_layouts *layouts, const dcli_layout *layout)
{
    dcli_common_layout **at = &layouts->first;
    while (&(*at)->layout != layout)
        at = &(*at)->next;
    dcli_common_layout *common = *at;
    if (--common->uses > 0)
        return NULL;
    *at = common->next;
    return common;
}

void dcli_layouts_end_use(dcli_layouts *layouts, const dcli_layout *layout)
{
    pthread_mutex_lock(&layouts->lock);
    dcli_common_layout *ended = take_off(layouts, layout);
    pthread_mutex_unlock(&layouts->lock);
    if (ended == NULL)
        return;
    dcli_layout_release(&ended->layout);
    dcli_free(ended);
}
