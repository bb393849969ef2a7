/* resmap/table.c - lists of numbers with a reference count. */
#include "resmap/table.h"

#include <string.h>

#include "base/alloc.h"

dcli_table *dcli_table_new(int64_t count)
{
    dcli_table *table = dcli_calloc(1, sizeof *table + (size_t)count * sizeof table->value[0]);
    if (table != NULL) {
        table->references = 1;
        table->count = count;
    }
    return table;
}

dcli_table *dcli_table_retain(dcli_table *table)
{
    if (table != NULL)
        __atomic_fetch_add(&table->references, 1, __ATOMIC_RELAXED);
    return table;
}

void dcli_table_release(dcli_table *table)
{
    if (table != NULL && __atomic_sub_fetch(&table->references, 1, __ATOMIC_ACQ_REL) == 0)
        dcli_free(table);
}

_Bool dcli_table_equal(const dcli_table *a, const dcli_table *b)
{
    if (a == b)
        return 1;
    return a != NULL && b != NULL && a->count == b->count &&
           memcmp(a->value, b->value, (size_t)a->count * sizeof a->value[0]) == 0;
}
