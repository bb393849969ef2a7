/* device/quiet.h - filter what a driver's compiler writes to standard error. */
#ifndef DCLI_DEVICE_QUIET_H
#define DCLI_DEVICE_QUIET_H

/** Begin to drop the lines in which PoCL's compiler counts its errors on standard error ("4 errors generated."); its
 *  log has the errors themselves. All other lines, also those of other threads, are forwarded.
 *  @return to be passed to the end function; NULL, and nothing is dropped, if another thread is filtering or there is
 *          no descriptor or thread. */
struct dcli_quiet *dcli_quiet_begin(void);
/** Restore standard error. Waits up to 500 ms for lines that are still to be forwarded. NULL is accepted. */
void dcli_quiet_end(struct dcli_quiet *quiet);

#endif
