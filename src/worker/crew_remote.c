#include "worker/crew_inside.h"
#include "base/error.h"
int dcli_crew_count_remote(dcli_crew *crew, const char *workers) { (void)crew; DCLI_FAIL(DCL_ERR_UNSUPPORTED, "%s", workers); return -1; }
dcl_status dcli_crew_open_remote(dcli_crew *crew, const char *workers) { (void)crew; (void)workers; return DCL_ERR_UNSUPPORTED; }
void dcli_crew_attend(dcli_crew *crew, int contact) { (void)crew; (void)contact; }
void dcli_crew_hang_up(dcli_crew *crew) { (void)crew; }
void dcli_crew_kill_remote(dcli_crew *crew, int node) { (void)crew; (void)node; }
int dcli_crew_polled(dcli_crew *crew, int contact, struct pollfd polled_out[]) { (void)crew; (void)contact; (void)polled_out; return 0; }
dcl_status dcli_crew_add_remote(dcli_crew *crew, dcli_worker *host, int first, int count) { (void)crew; (void)host; (void)first; (void)count; return DCL_ERR_UNSUPPORTED; }
