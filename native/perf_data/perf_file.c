#include "perf_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int gn_perf_refuse(struct gn_perf_file *file, uint64_t offset, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(file->problem.text, sizeof(file->problem.text), format, arguments);
	va_end(arguments);
	file->problem.offset = offset;
	return -EBADMSG;
}

const uint8_t *gn_perf_record(struct gn_perf_file *file, uint64_t position,
			      struct gn_perf_header *header)
{
	struct gn_byte_source *source = position & GN_UNPACKED ? &file->unpacked : &file->file;
	const uint64_t offset = position & ~GN_UNPACKED;
	const uint8_t *start = gn_bytes_at(source, offset, GN_RECORD_HEADER_BYTES);

	if (!start)
		return NULL;
	*header = gn_perf_header_of(start, file->swaps);
	return header->size < GN_RECORD_HEADER_BYTES ? NULL
						     : gn_bytes_at(source, offset, header->size);
}

int gn_perf_note_add(struct gn_perf_file *file, uint32_t kind, uint64_t offset, uint64_t bytes)
{
	struct gn_perf_note *note = gn_rows_add(&file->note, sizeof(*note));

	if (!note)
		return -ENOMEM;
	note->kind = kind;
	note->offset = offset;
	note->bytes = bytes;
	return 0;
}

int gn_perf_event_add(struct gn_perf_file *file, const uint8_t *attr, uint64_t n, uint64_t offset)
{
	const int failed = gn_event_attr_add(&file->attrs, attr, n);

	if (failed == -EBADMSG)
		return gn_perf_refuse(file, offset, "the description of an event is malformed");
	if (failed == -ENOTSUP)
		return gn_perf_refuse(file, offset,
				      "samples have fields that are newer than this Gnomon");
	return failed;
}

void gn_perf_file_close(struct gn_perf_file *file)
{
	for (size_t i = 0; i < file->symbol.n; i++)
		free(((struct gn_kernel_symbol *)file->symbol.row)[i].name);
	gn_byte_source_close(&file->file);
	gn_byte_source_close(&file->unpacked);
	gn_event_attrs_free(&file->attrs);
	gn_mapped_files_free(&file->mapped);
	gn_rows_free(&file->entry);
	gn_rows_free(&file->note);
	gn_rows_free(&file->symbol);
	gn_rows_free(&file->deferred);
	gn_zstd_end(&file->zstd);
	free(file->pending);
	memset(file, 0, sizeof(*file));
}
