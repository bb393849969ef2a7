#include "worker/serving.h"
dcl_status dcli_serving_take_wire_terms(dcli_serving *serving, const char *terms) { (void)serving; (void)terms; return DCL_ERR_UNSUPPORTED; }
dcl_status dcli_serving_open_wire(dcli_serving *serving) { (void)serving; return DCL_ERR_UNSUPPORTED; }
dcl_status dcli_serving_meet_all(dcli_serving *serving, const dcli_msg_setup *setup) { (void)serving; (void)setup; return DCL_ERR_UNSUPPORTED; }
void dcli_serving_close_wire(dcli_serving *serving) { (void)serving; }
