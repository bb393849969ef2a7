/* worker/watch.c - a serving thread records its progress. */
#include "worker/watch.h"

#include <string.h>

#include "base/clock.h"

bool dcli_watch_is_given_up(const dcli_watch *watch)
{
    return watch != NULL && atomic_load_explicit(&watch->given_up, memory_order_relaxed);
}

void dcli_watch_tick(dcli_watch *watch)
{
    if (watch != NULL)
        atomic_fetch_add_explicit(&watch->ticks, 1, memory_order_relaxed);
}

void dcli_watch_sleep(dcli_watch *watch, bool asleep)
{
    if (watch != NULL)
        atomic_store_explicit(&watch->asleep, asleep, memory_order_relaxed);
}

void dcli_watch_rest(dcli_watch *watch, bool rests)
{
    if (watch == NULL || atomic_load_explicit(&watch->page->rests, memory_order_relaxed) == rests)
        return;
    if (!rests)
        atomic_fetch_add(&watch->page->rises, 1);
    atomic_store(&watch->page->rests, rests);
}

void dcli_watch_announce(dcli_watch *watch, dcli_activity activity, const char *text)
{
    if (watch != NULL)
        strncpy(watch->page->activity[activity].text, text, sizeof watch->page->activity[activity].text - 1);
}

void dcli_watch_farewell(dcli_watch *watch, const char *text)
{
    if (watch != NULL)
        strncpy(watch->page->farewell, text, sizeof watch->page->farewell - 1);
}

void dcli_watch_kernel(dcli_watch *watch, dcli_activity activity, int64_t kernel)
{
    if (watch != NULL)
        atomic_store_explicit(&watch->page->activity[activity].kernel, kernel, memory_order_relaxed);
}

void dcli_watch_beside(dcli_watch *watch, int count)
{
    if (watch != NULL)
        atomic_store_explicit(&watch->page->beside, count, memory_order_relaxed);
}

void *dcli_watch_step(dcli_watch *watch) { return watch != NULL ? &watch->page->step : NULL; }

void dcli_watch_activity(dcli_watch *watch, dcli_activity activity, const char *text)
{
    if (watch == NULL)
        return;
    if (text != NULL)
        dcli_watch_announce(watch, activity, text);
    atomic_store(&watch->page->activity[activity].since_ns, text != NULL ? dcli_monotonic_ns() : 0);
}

void dcli_watch_progress(dcli_watch *watch, dcli_activity activity)
{
    if (watch != NULL)
        atomic_store(&watch->page->activity[activity].since_ns, dcli_monotonic_ns());
}
