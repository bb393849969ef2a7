/* icd/handles.c - handles, and the objects behind them. */
#include <sys/mman.h>

#include "icd/inside.h"

/* Cells lie in one reserved part of the address space, so that whether an address is that of a cell is two comparisons.
 * A freed cell is used again after REST others have been freed. */
enum { MOST_CELLS = 1 << 24, GROWTH = 1 << 12, REST = 1 << 12 };

static icd_cell *cells;
static size_t cell_count, backed_count;
static icd_cell *free_first, **free_last = &free_first;
static size_t free_count;

static icd_cell *take_cell(void)
{
    if (free_count > REST) {
        icd_cell *cell = free_first;
        if ((free_first = cell->next_free) == NULL)
            free_last = &free_first;
        free_count--;
        return cell;
    }
    if (cells == NULL) {
        void *memory =
            mmap(NULL, MOST_CELLS * sizeof *cells, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return NULL;
        cells = memory;
    }
    if (cell_count == backed_count) {
        if (backed_count == MOST_CELLS ||
            mprotect(&cells[backed_count], GROWTH * sizeof *cells, PROT_READ | PROT_WRITE) != 0)
            return NULL;
        backed_count += GROWTH;
    }
    icd_cell *cell = &cells[cell_count++];
    cell->dispatch = &icd_dispatch;
    return cell;
}

static void give_cell(icd_cell *cell)
{
    cell->kind = 0;
    cell->object = NULL;
    cell->generation++;
    cell->next_free = NULL;
    *free_last = cell;
    free_last = &cell->next_free;
    free_count++;
}

void *icd_make(icd_kind kind, size_t bytes)
{
    icd_object *object = dcli_calloc(1, bytes);
    icd_cell *cell = object != NULL ? take_cell() : NULL;
    if (cell == NULL) {
        dcli_free(object);
        return NULL;
    }
    *object = (icd_object){.kind = kind, .refs = 1, .owned = 1, .cell = cell};
    cell->kind = kind;
    cell->object = object;
    return object;
}

void *icd_find(const void *handle, icd_kind kind)
{
    uintptr_t at = (uintptr_t)handle, first = (uintptr_t)cells;
    if (cells == NULL || at < first || at >= first + cell_count * sizeof *cells || (at - first) % sizeof *cells != 0)
        return NULL;
    const icd_cell *cell = handle;
    return cell->kind == kind ? cell->object : NULL;
}

void *icd_hold(void *object)
{
    if (object != NULL)
        ((icd_object *)object)->refs++;
    return object;
}

void icd_drop(void *dropped)
{
    icd_object *object = dropped;
    if (object == NULL || --object->refs > 0)
        return;
    switch (object->kind) {
    case ICD_CONTEXT:
        icd_context_free(dropped);
        break;
    case ICD_QUEUE:
        icd_queue_free(dropped);
        break;
    case ICD_MEM:
        icd_mem_free(dropped);
        break;
    case ICD_PROGRAM:
        icd_program_free(dropped);
        break;
    case ICD_KERNEL:
        icd_kernel_free(dropped);
        break;
    case ICD_EVENT:
        icd_event_free(dropped);
        break;
    case ICD_DEVICE:
        if (((icd_device *)dropped)->root == dropped)
            return;
        icd_sub_device_free(dropped);
        break;
    default: /* the platform stays */
        return;
    }
    give_cell(object->cell);
    dcli_free(object);
}
