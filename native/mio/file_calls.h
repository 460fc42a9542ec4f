/*
 * What programs call on a file with a stack of layers, which is locked (open_files.h) once it is
 * open. All return what they say or a negative errno.
 */
#ifndef GNOMON_MIO_FILE_CALLS_H
#define GNOMON_MIO_FILE_CALLS_H

#include "mio_settings.h"
#include "open_files.h"

/* Opens a file through its layers, and handles signals that these need. Its descriptor. */
int gn_mio_file_open(const struct gn_mio_request *request, bool is_scratch);

/* At the position, which moves. */
ssize_t gn_mio_file_read(struct gn_mio_file *file, void *to, size_t bytes);
ssize_t gn_mio_file_write(struct gn_mio_file *file, const void *from, size_t bytes);

/* At an offset of their own. */
ssize_t gn_mio_file_read_at(struct gn_mio_file *file, void *to, size_t bytes, int64_t offset);
ssize_t gn_mio_file_write_at(struct gn_mio_file *file, const void *from, size_t bytes,
			     int64_t offset);

int64_t gn_mio_file_seek(struct gn_mio_file *file, int64_t offset, int whence);
int gn_mio_file_truncate(struct gn_mio_file *file, int64_t bytes);
int gn_mio_file_status(struct gn_mio_file *file, struct stat *status);
int gn_mio_file_sync(struct gn_mio_file *file, bool data_only);

/* fcntl(2); a descriptor that it returns is one more of the file. */
int gn_mio_file_control(struct gn_mio_file *file, int command, void *argument);

/*
 * Around a call of the system's own on the file's descriptor: before it the system knows what the
 * program did, and where it is; after it layers know nothing of what may have changed.
 */
void gn_mio_file_settle(struct gn_mio_file *file);
void gn_mio_file_resume(struct gn_mio_file *file);

#endif
