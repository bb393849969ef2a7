/* device/quiet.h - keeping a driver's compiler from standard error. */
#ifndef DCLI_DEVICE_QUIET_H
#define DCLI_DEVICE_QUIET_H

/** PoCL's compiler counts on standard error ("4 errors generated.") what it says in its log. Between begin and end such lines
 *  are left out; all others, also those of other threads, are passed on.
 *  @return to be given to end; NULL, with nothing left out, while another thread is in between, and where there is no
 *          descriptor or thread to be had. */
struct dcli_quiet *dcli_quiet_begin(void);
void dcli_quiet_end(struct dcli_quiet *quiet);

#endif
