/* pairs/views.c - see views.h. */
#include "pairs/views.h"

#include <stdlib.h>
#include <string.h>

#include "pairs/copies.h"

/* A view, and which element of its base each of its elements is. */
struct view {
    test_model model, *base;
    int64_t *element;
};

static bool view_make(struct view *view, const char *name, test_model *base, dcl_array *array, const dcl_grid *grid)
{
    int64_t total = dcl_grid_count(grid);
    view->base = base;
    view->element = calloc((size_t)total + 1, sizeof *view->element);
    view->model = (test_model){.name = name, .array = array, .grid = *grid, .total = total, .copied = base->copied};
    view->model.value = calloc((size_t)total + 1, sizeof *view->model.value);
    view->model.owner = calloc((size_t)total + 1, sizeof *view->model.owner);
    if (array == NULL)
        return test_failed("view %s: %s", name, dcl_error());
    dcl_grid found = dcl_grid_of(array);
    bool same = found.rank == grid->rank && found.type == grid->type;
    for (int d = 0; same && d < grid->rank; d++)
        same = found.origin[d] == grid->origin[d] && found.extent[d] == grid->extent[d];
    return same || test_failed("view %s has another grid than expected", name);
}

static void view_end(struct view *view)
{
    test_model_end(&view->model);
    free(view->element);
}

/* What the base holds is what the view shows. */
static void view_follows(struct view *view)
{
    for (int64_t e = 0; e < view->model.total; e++) {
        view->model.value[e] = view->base->value[view->element[e]];
        view->model.owner[e] = view->base->owner[view->element[e]];
    }
}

/* What was written to the view was written to the base. */
static void base_follows(struct view *view)
{
    for (int64_t e = 0; e < view->model.total; e++)
        view->base->value[view->element[e]] = view->model.value[e];
}

/* B or E with the axes that A has. */
static bool view_permuted(struct view *view, const char *name, test_model *base, const dcl_grid *grid)
{
    int axes[DCL_MAX_RANK];
    for (int d = 0; d < grid->rank; d++)
        axes[test_axis(grid->rank, d)] = d;
    bool good = view_make(view, name, base, dcl_permute(base->array, axes), grid);
    for (int64_t e = 0; e < view->model.total; e++) {
        int64_t index[DCL_MAX_RANK], at[DCL_MAX_RANK];
        test_index(grid, e, index);
        for (int d = 0; d < grid->rank; d++)
            at[d] = index[test_axis(grid->rank, d)];
        view->element[e] = test_element(&base->grid, at);
    }
    view_follows(view);
    return good;
}

/* An array backwards along every axis, under the indices that it has: a view of a view. */
static bool view_reversed(struct view *view, const char *name, test_model *base)
{
    int64_t start[DCL_MAX_RANK], stride[DCL_MAX_RANK];
    for (int d = 0; d < base->grid.rank; d++) {
        start[d] = base->grid.origin[d] + base->grid.extent[d] - 1;
        stride[d] = -1;
    }
    dcl_array *slice = dcl_slice(base->array, start, base->grid.extent, stride);
    bool good = view_make(view, name, base, dcl_shift(slice, base->grid.origin), &base->grid);
    dcl_release(slice);
    for (int64_t e = 0; e < view->model.total; e++)
        view->element[e] = view->model.total - 1 - e;
    view_follows(view);
    return good;
}

/* C = A + D, where A and D are views. */
static bool read_views(test_pair *pair, const struct view *a, const struct view *d)
{
    test_pair of_views = *pair;
    of_views.a = a->model;
    of_views.d = d->model;
    bool good = test_compare(&a->model, NULL, &pair->random) && test_compare(&d->model, NULL, &pair->random) &&
                test_run_body(&of_views, TEST_ADD, NULL);
    return good && test_compare(&pair->c, NULL, &pair->random);
}

/* C = A + D, where C is a view. */
static bool write_view(test_pair *pair, struct view *c)
{
    test_pair of_views = *pair;
    of_views.c = c->model;
    bool good = test_run_body(&of_views, TEST_ADD, NULL);
    base_follows(c);
    return good && test_compare(c->base, NULL, &pair->random);
}

static bool use_host(test_pair *pair, struct view *view, const char *path)
{
    dcl_box box = test_random_box(&view->model.grid, &pair->random);
    bool good = test_write(&view->model, &box, &pair->random);
    base_follows(view);
    good = good && test_compare(view->base, NULL, &pair->random) && test_save(&view->model, path) &&
           test_load(&pair->d, &view->model, path) && test_compare(&pair->d, NULL, &pair->random) &&
           test_copy(&view->model, &pair->c) && test_compare(&pair->c, NULL, &pair->random) &&
           test_fill(&view->model, 3);
    base_follows(view);
    return good && test_compare(view->base, NULL, &pair->random);
}

bool test_views(test_pair *pair, const char *path)
{
    struct view a = {.base = NULL}, b = {.base = NULL}, e = {.base = NULL};
    bool good = test_write(&pair->a, NULL, &pair->random) && view_reversed(&a, "D", &pair->a) &&
                view_permuted(&b, "A", &pair->b, &pair->a.grid) && view_permuted(&e, "C", &pair->e, &pair->a.grid);
    good = good && read_views(pair, &b, &a) && write_view(pair, &e) && use_host(pair, &a, path) &&
           use_host(pair, &b, path);
    view_end(&a);
    view_end(&b);
    view_end(&e);
    return good;
}
