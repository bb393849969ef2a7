/* device/quiet.h - keeping a driver's compiler from standard error. */
#ifndef DCLI_DEVICE_QUIET_H
#define DCLI_DEVICE_QUIET_H

/** Begin to drop the lines in which PoCL's compiler counts its errors on standard error ("4 errors generated."); its log has
 *  the errors themselves. All other lines, also those of other threads, are passed on.
 *  @return to be given to end; NULL, with nothing left out, while another thread is in between, and where there is no
 *          descriptor or thread to be had. */
struct dcli_quiet *dcli_quiet_begin(void);
void dcli_quiet_end(struct dcli_quiet *quiet);

#endif
