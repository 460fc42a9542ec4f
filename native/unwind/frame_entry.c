#include "frame_entry.h"

#include <errno.h>
#include <stdlib.h>

#include "byte_reader.h"

/* Of one entry: the longest function programs are some ten thousand. */
#define ENTRY_BYTES_MAX ((uint64_t)1 << 20)
#define ENTRIES_MAX ((uint32_t)1 << 24)

/* Source: Linux Standard Base, "DWARF Exception Header Encoding". */
enum {
	ENCODING_OMIT = 0xff,
	ENCODING_INDIRECT = 0x80,
	FORMAT_MASK = 0x0f,
	RELATIVE_MASK = 0x70,
	RELATIVE_TO_PLACE = 0x10,
	RELATIVE_TO_DATA = 0x30,
};

static uint64_t read_format(struct gn_reader *reader, uint8_t encoding)
{
	switch (encoding & FORMAT_MASK) {
	case 0x00: /* absolute */
	case 0x04:
	case 0x0c:
		return gn_read_u64(reader);
	case 0x01:
		return gn_read_uleb(reader);
	case 0x02:
		return gn_read_u16(reader);
	case 0x03:
		return gn_read_u32(reader);
	case 0x09:
		return (uint64_t)gn_read_sleb(reader);
	case 0x0a:
		return (uint64_t)(int64_t)(int16_t)gn_read_u16(reader);
	case 0x0b:
		return (uint64_t)(int64_t)(int32_t)gn_read_u32(reader);
	default:
		reader->failed = true;
		return 0;
	}
}

static uint64_t read_pointer(struct gn_reader *reader, uint8_t encoding,
			     const struct gn_section *section, uint64_t data_address)
{
	const uint64_t place = section->address + reader->at;
	uint64_t value = read_format(reader, encoding);

	if (encoding & ENCODING_INDIRECT)
		reader->failed = true;
	switch (encoding & RELATIVE_MASK) {
	case 0:
		return value;
	case RELATIVE_TO_PLACE:
		return value + place;
	case RELATIVE_TO_DATA:
		return value + data_address;
	default:
		reader->failed = true;
		return 0;
	}
}

/* An entry's extent: its length, and the word that tells CIEs from FDEs. */
struct extent {
	/* Of that word, and the first byte behind the entry. */
	uint64_t id_at;
	uint64_t end;
	uint64_t id;
	uint64_t contents;
	bool is_64_bit;
};

static int read_extent(const struct gn_section *section, uint64_t offset, bool is_debug_frame,
		       struct extent *extent)
{
	struct gn_reader reader = gn_reader_of(section->bytes, offset, section->size);
	uint64_t length = gn_read_u32(&reader);

	extent->is_64_bit = length == UINT32_MAX;
	if (extent->is_64_bit)
		length = gn_read_u64(&reader);
	if (reader.failed || length > reader.end - reader.at)
		return -EBADMSG;
	extent->id_at = reader.at;
	extent->end = reader.at + length;
	extent->contents = extent->end;
	extent->id = 0;
	/* The end of .eh_frame; linkers leave some in the middle. */
	if (!length)
		return 0;
	reader.end = extent->end;
	/* .eh_frame has 32 bits here in both formats (LSB), .debug_frame as many as the format. */
	if (extent->is_64_bit && is_debug_frame)
		extent->id = gn_read_u64(&reader);
	else
		extent->id = gn_read_u32(&reader);
	extent->contents = reader.at;
	return reader.failed ? -EBADMSG : 0;
}

static bool is_cie(const struct extent *extent, bool is_debug_frame)
{
	if (!is_debug_frame)
		return extent->id == 0;
	return extent->id == (extent->is_64_bit ? UINT64_MAX : UINT32_MAX);
}

static int read_cie(struct gn_frame_entry *entry, uint64_t offset, bool *has_data)
{
	const struct gn_section *section = entry->section;
	struct gn_reader reader;
	struct extent extent;
	const char *augmentation;
	uint64_t data_end = 0;
	uint8_t version;

	if (offset >= section->size || read_extent(section, offset, entry->is_debug_frame, &extent))
		return -EBADMSG;
	if (extent.end == extent.id_at || !is_cie(&extent, entry->is_debug_frame))
		return -EBADMSG;
	reader = gn_reader_of(section->bytes, extent.contents, extent.end);
	version = gn_read_u8(&reader);
	augmentation = (const char *)section->bytes + reader.at;
	while (gn_read_u8(&reader) && !reader.failed)
		;
	if (reader.failed || (version != 1 && version != 3 && version != 4))
		return -EBADMSG;
	/* Size of addresses and of segment selectors. */
	if (version == 4 && gn_read_u16(&reader) != 8)
		return -EBADMSG;
	entry->code_factor = gn_read_uleb(&reader);
	entry->data_factor = gn_read_sleb(&reader);
	entry->return_column = version == 1 ? gn_read_u8(&reader) : gn_read_uleb(&reader);
	*has_data = *augmentation == 'z';
	if (*has_data) {
		data_end = gn_read_uleb(&reader);
		if (reader.failed || data_end > reader.end - reader.at)
			return -EBADMSG;
		data_end += reader.at;
		augmentation++;
	}
	for (; *augmentation && !reader.failed; augmentation++) {
		switch (*augmentation) {
		case 'R':
			entry->pointer_encoding = gn_read_u8(&reader);
			break;
		case 'P': {
			uint8_t encoding = gn_read_u8(&reader);

			read_format(&reader, encoding);
			break;
		}
		case 'L':
			gn_skip(&reader, 1);
			break;
		case 'S':
			entry->is_signal_frame = true;
			break;
		case 'B': /* aarch64: signed by key B, and tagged stacks: neither changes a rule */
		case 'G':
			break;
		default:
			if (!*has_data)
				return -EBADMSG;
			break;
		}
	}
	if (*has_data)
		reader.at = data_end;
	if (reader.failed || reader.at > reader.end)
		return -EBADMSG;
	entry->initial_at = reader.at;
	entry->initial_end = extent.end;
	return 0;
}

/* Reads the FDE at an offset of a section. -ENOENT: there is a CIE, or the section's end. */
static int read_fde(const struct gn_elf_image *image, const struct gn_section *section,
		    uint64_t offset, struct gn_frame_entry *entry, uint64_t *next)
{
	struct gn_reader reader;
	struct extent extent;
	bool has_data;
	uint64_t cie;

	*entry = (struct gn_frame_entry){.section = section,
					 .is_debug_frame = section == &image->debug_frame};
	if (offset >= section->size || read_extent(section, offset, entry->is_debug_frame, &extent))
		return -EBADMSG;
	if (next)
		*next = extent.end;
	if (extent.end == extent.id_at || is_cie(&extent, entry->is_debug_frame))
		return -ENOENT;
	if (extent.end - extent.id_at > ENTRY_BYTES_MAX)
		return -EBADMSG;
	cie = entry->is_debug_frame ? extent.id : extent.id_at - extent.id;
	if (read_cie(entry, cie, &has_data))
		return -EBADMSG;
	if (entry->initial_end - entry->initial_at > ENTRY_BYTES_MAX)
		return -EBADMSG;
	reader = gn_reader_of(section->bytes, extent.contents, extent.end);
	entry->start = read_pointer(&reader, entry->pointer_encoding, section,
				    image->frame_header.address);
	entry->end = entry->start + read_format(&reader, entry->pointer_encoding);
	if (has_data)
		gn_skip(&reader, gn_read_uleb(&reader));
	if (reader.failed || entry->end < entry->start)
		return -EBADMSG;
	entry->program_at = reader.at;
	entry->program_end = extent.end;
	return 0;
}

static int compare_places(const void *left, const void *right)
{
	const struct gn_entry_place *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Entries behind a damaged one cannot be found. */
static int build_table(const struct gn_elf_image *image, const struct gn_section *section,
		       struct gn_entry_table *table)
{
	uint32_t capacity = 0;
	uint64_t offset = 0, next;

	while (offset < section->size && table->n < ENTRIES_MAX) {
		struct gn_frame_entry entry;
		int error;

		next = 0;
		error = read_fde(image, section, offset, &entry, &next);
		if (next <= offset)
			break;
		if (!error && entry.end > entry.start) {
			if (table->n == capacity) {
				void *more;

				capacity = capacity ? 2 * capacity : 256;
				more = realloc(table->places, capacity * sizeof(*table->places));
				if (!more)
					return -ENOMEM;
				table->places = more;
			}
			table->places[table->n++] = (struct gn_entry_place){entry.start, offset};
		}
		offset = next;
	}
	if (table->n)
		qsort(table->places, table->n, sizeof(*table->places), compare_places);
	return 0;
}

/* Source: Linux Standard Base, "Exception Frames". Only the form that every linker writes. */
static void find_header_table(struct gn_entry_index *index)
{
	const struct gn_section *header = &index->image->frame_header;
	struct gn_reader reader = gn_reader_of(header->bytes, 0, header->size);
	uint8_t version, pointer, count, table;
	uint64_t n;

	version = gn_read_u8(&reader);
	pointer = gn_read_u8(&reader);
	count = gn_read_u8(&reader);
	table = gn_read_u8(&reader);
	if (reader.failed || version != 1 || count == ENCODING_OMIT || table != 0x3b)
		return;
	read_format(&reader, pointer);
	n = read_format(&reader, count);
	if (reader.failed || n > (reader.end - reader.at) / 8)
		return;
	index->header_at = reader.at;
	index->header_n = n;
}

int gn_entry_index_open(struct gn_entry_index *index, const struct gn_elf_image *image)
{
	int error = 0;

	*index = (struct gn_entry_index){.image = image};
	if (image->eh_frame.bytes)
		find_header_table(index);
	if (image->eh_frame.bytes && !index->header_n)
		error = build_table(image, &image->eh_frame, &index->eh_frame);
	if (!error && image->debug_frame.bytes)
		error = build_table(image, &image->debug_frame, &index->debug_frame);
	if (error)
		gn_entry_index_close(index);
	return error;
}

void gn_entry_index_close(struct gn_entry_index *index)
{
	free(index->eh_frame.places);
	free(index->debug_frame.places);
	*index = (struct gn_entry_index){0};
}

uint64_t gn_entry_index_count(const struct gn_entry_index *index)
{
	return index->header_n + index->eh_frame.n + index->debug_frame.n;
}

static int32_t header_word(const struct gn_entry_index *index, uint64_t i, unsigned int word)
{
	int32_t value;

	memcpy(&value, index->image->frame_header.bytes + index->header_at + 8 * i + 4 * word, 4);
	return value;
}

/* The offset of the last entry that begins at an address or before it. */
static bool search_header(const struct gn_entry_index *index, uint64_t address, uint64_t *offset)
{
	const struct gn_section *header = &index->image->frame_header;
	const int64_t relative = (int64_t)(address - header->address);
	uint64_t low = 0, high = index->header_n;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (header_word(index, middle, 0) <= relative)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	*offset = header->address + (uint64_t)(int64_t)header_word(index, low - 1, 1) -
		  index->image->eh_frame.address;
	return true;
}

static bool search_table(const struct gn_entry_table *table, uint64_t address, uint64_t *offset)
{
	uint32_t low = 0, high = table->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->places[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	*offset = table->places[low - 1].offset;
	return true;
}

static int read_for(const struct gn_entry_index *index, const struct gn_section *section,
		    uint64_t offset, uint64_t address, struct gn_frame_entry *entry)
{
	int error = read_fde(index->image, section, offset, entry, NULL);

	if (error)
		return -EBADMSG;
	return address >= entry->start && address < entry->end ? 0 : -ENOENT;
}

int gn_entry_find(const struct gn_entry_index *index, uint64_t address,
		  struct gn_frame_entry *entry)
{
	const struct gn_elf_image *image = index->image;
	uint64_t offset;
	int error = -ENOENT;

	if (index->header_n ? search_header(index, address, &offset)
			    : search_table(&index->eh_frame, address, &offset))
		error = read_for(index, &image->eh_frame, offset, address, entry);
	if (error && search_table(&index->debug_frame, address, &offset))
		error = read_for(index, &image->debug_frame, offset, address, entry);
	return error;
}
