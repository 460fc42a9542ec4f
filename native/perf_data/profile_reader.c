#include "profile_reader.h"

#include <errno.h>

#include "sample_file.h"
#include "stack_frames.h"

/* As many paths as a run has; those of inlined functions come to them. */
#define NODES_MAX 3500000u
#define PLACES_KEPT (1u << 16)

/* The last place that an address was found at. */
struct known_place {
	uint64_t address, serial;
	uint32_t place;
};

struct reader {
	struct gn_profile *profile;
	struct gn_perf_file *file;
	struct gn_tasks tasks;
	struct gn_stack_frames frames;
	struct known_place *known;
	int machine;
};

/* --- places ----------------------------------------------------------------------------------- */

static const uint32_t module_of_mode[] = {
	[GN_MODE_KERNEL] = GN_FIXED_KERNEL,
	[GN_MODE_USER] = GN_FIXED_UNKNOWN,
	[GN_MODE_GUEST] = GN_FIXED_GUEST,
	[GN_MODE_HYPERVISOR] = GN_FIXED_HYPERVISOR,
};

static uint32_t find_place(struct reader *reader, const struct gn_map_set *maps,
			   enum gn_frame_mode mode, uint64_t address)
{
	const struct gn_code_map *map = gn_map_at(maps, address);
	uint32_t module = module_of_mode[mode];
	uint64_t offset = address;

	if (map) {
		const struct gn_mapped_module *mapped =
			gn_module(&reader->file->mapped, map->module);

		module = map->module;
		if (mapped->kind == GN_MODULE_IS_FILE)
			offset = gn_module_address(mapped, address - map->start + map->file_offset);
	}
	return gn_path_place(&reader->profile->tree, module, offset);
}

static uint32_t place_of(struct reader *reader, const struct gn_map_set *user,
			 enum gn_frame_mode mode, uint64_t address)
{
	const struct gn_map_set *maps = mode == GN_MODE_USER	 ? user
					: mode == GN_MODE_KERNEL ? reader->tasks.kernel
								 : NULL;
	/* Serials begin with 1; what has no maps is told apart by its mode. */
	const uint64_t serial = maps ? maps->serial << 3 : mode;
	const uint64_t hash = (address ^ serial << 40) * 0x9e3779b97f4a7c15ull;
	struct known_place *known = &reader->known[hash >> 48];

	if (known->address != address || known->serial != serial) {
		known->place = find_place(reader, maps, mode, address);
		known->address = address;
		known->serial = known->place == GN_PATH_NONE ? UINT64_MAX : serial;
	}
	return known->place;
}

/* Whether the path has it: there may be no room for more. */
static bool extend(struct reader *reader, uint32_t *path, uint32_t place)
{
	const uint32_t node =
		place == GN_PATH_NONE ? place : gn_path_node(&reader->profile->tree, *path, place);

	if (node == GN_PATH_NONE)
		return false;
	*path = node;
	return true;
}

static void add_path(struct reader *reader, const struct gn_map_set *maps,
		     struct gn_sample_sample *row)
{
	const struct gn_stack_frames *frames = &reader->frames;
	uint32_t path = GN_PATH_NONE;
	bool is_whole = true;

	row->end = (uint8_t)frames->end;
	row->flags |= frames->is_guessed ? GN_SAMPLE_GUESSED : 0;
	row->flags |= frames->has_stack ? 0 : GN_SAMPLE_KERNEL_ONLY;
	if (frames->end != GN_UNWIND_COMPLETE)
		is_whole = extend(reader, &path,
				  gn_path_place(&reader->profile->tree, GN_FIXED_CUT, frames->end));
	for (uint32_t i = frames->n; is_whole && i-- > 0;)
		is_whole = extend(
			reader, &path,
			place_of(reader, maps, frames->frame[i].mode, frames->frame[i].address));
	if (!is_whole)
		row->flags |= GN_SAMPLE_SHORTENED;
	row->node = path;
}

/* --- what else a sample has ------------------------------------------------------------------- */

/* The number of a thread in the profile. */
static uint32_t number_thread(struct reader *reader, uint32_t thread)
{
	struct gn_file_thread *own = gn_file_thread(&reader->tasks, thread);
	struct gn_file_process *process = gn_file_process(&reader->tasks, own->process);
	struct gn_profile_process *process_row = reader->profile->process.row;
	struct gn_profile_thread *thread_row = reader->profile->thread.row;

	if (process->number == GN_NO_NUMBER) {
		process_row = gn_rows_add(&reader->profile->process, sizeof(*process_row));
		if (!process_row)
			return GN_NO_NUMBER;
		process_row->pid = process->pid;
		process->number = (uint32_t)reader->profile->process.n - 1;
	} else {
		process_row += process->number;
	}
	if (own->number == GN_NO_NUMBER) {
		thread_row = gn_rows_add(&reader->profile->thread, sizeof(*thread_row));
		if (!thread_row)
			return GN_NO_NUMBER;
		thread_row->tid = own->tid;
		thread_row->process = process->number;
		own->number = (uint32_t)reader->profile->thread.n - 1;
	} else {
		thread_row += own->number;
	}
	memcpy(process_row->name, process->name, sizeof(process_row->name));
	memcpy(thread_row->name, own->name, sizeof(thread_row->name));
	return own->number;
}

/* With PERF_SAMPLE_READ events stand for what they have counted since they were read last. */
static int take_values(struct reader *reader, const struct gn_file_sample *taken,
		       const struct gn_event_attr *attr, struct gn_sample_sample *row, uint32_t n)
{
	const uint64_t format = attr->read_format;
	const uint32_t id_at =
		format & GN_FORMAT_GROUP
			? 1
			: 1 + (uint32_t)__builtin_popcountll(
				      format & (GN_FORMAT_ENABLED | GN_FORMAT_RUNNING));

	if (!(format & GN_FORMAT_ID))
		return 0;
	for (uint64_t i = 0; i < taken->n_values; i++) {
		const uint8_t *value = taken->value + 8 * i * taken->value_words;
		const uint64_t count = gn_field_64(value, reader->file->swaps);
		struct gn_event_id *id = gn_event_id(
			&reader->file->attrs, gn_field_64(value + 8 * id_at, reader->file->swaps));
		struct gn_sample_value *more;
		uint64_t counted;

		if (!id)
			continue;
		counted = count >= id->counted ? count - id->counted : count;
		id->counted = count;
		if (id->attr == row->event) {
			row->weight = counted;
			continue;
		}
		more = counted ? gn_rows_add(&reader->profile->value, sizeof(*more)) : NULL;
		if (counted && !more)
			return -ENOMEM;
		if (more)
			*more = (struct gn_sample_value){counted, n, id->attr};
	}
	return 0;
}

static int take_data(struct reader *reader, const struct gn_file_sample *taken, uint32_t n)
{
	struct gn_sample_data *row;

	if (!taken->address && !taken->latency && !taken->data_source)
		return 0;
	row = gn_rows_add(&reader->profile->data, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = (struct gn_sample_data){taken->address, taken->data_source, taken->latency, n, 0};
	return 0;
}

/* Bit fields of struct perf_branch_entry, from the lowest or from the highest bit on. */
static uint64_t branch_flags(uint64_t flags, bool is_turned, uint16_t *cycles)
{
	uint64_t turned = 0;

	if (!is_turned) {
		*cycles = (uint16_t)(flags >> 4);
		return flags & 0xf;
	}
	for (unsigned int i = 0; i < 4; i++)
		turned |= (flags >> (63 - i) & 1) << i;
	*cycles = (uint16_t)(flags >> 44);
	return turned;
}

static uint32_t branch_place(struct reader *reader, const struct gn_map_set *maps, uint64_t address)
{
	const bool is_kernel = address >> 63;

	if (!is_kernel && !gn_map_at(maps, address))
		return GN_PATH_NONE;
	return place_of(reader, maps, is_kernel ? GN_MODE_KERNEL : GN_MODE_USER, address);
}

static int take_branches(struct reader *reader, const struct gn_file_sample *taken,
			 const struct gn_map_set *maps, uint32_t n)
{
	const bool swaps = reader->file->swaps;

	for (uint64_t i = 0; i < taken->n_branches; i++) {
		const uint8_t *branch = taken->branch + 24 * i;
		struct gn_sample_jump *row = gn_rows_add(&reader->profile->jump, sizeof(*row));

		if (!row)
			return -ENOMEM;
		row->from_place = branch_place(reader, maps, gn_field_64(branch, swaps));
		row->to_place = branch_place(reader, maps, gn_field_64(branch + 8, swaps));
		row->sample = n;
		/* The names of the bits are those of enum gn_jump_* in their order. */
		row->flags =
			(uint8_t)branch_flags(gn_field_64(branch + 16, swaps), swaps, &row->cycles);
	}
	return 0;
}

/* --- records ---------------------------------------------------------------------------------- */

static int take_stack(struct reader *reader, const struct gn_file_sample *taken,
		      const struct gn_event_attr *attr, struct gn_map_set *maps, unsigned int mode)
{
	struct gn_stack_frames *frames = &reader->frames;
	const uint8_t *stack = taken->stack;
	int failed;

	gn_stack_frames_begin(frames, taken->ip, mode);
	failed = gn_stack_frames_chain(frames, reader->file, taken->chain, taken->n_chain);
	if (failed == -ENOENT) {
		reader->profile->without_user++;
		return 0;
	}
	if (failed)
		return failed;
	frames->has_stack = taken->has_chain || stack;
	if (attr->branch_type & GN_BRANCH_CALL_STACK && taken->n_branches)
		gn_stack_frames_branches(frames, taken->branch, taken->n_branches,
					 reader->file->swaps);
	else if (taken->registers && stack && !frames->has_user && maps && !reader->file->swaps)
		gn_stack_frames_unwind(frames, gn_tasks_space(&reader->tasks, maps), attr, taken,
				       reader->machine);
	return 0;
}

static int take_sample(struct reader *reader, uint32_t event, const uint8_t *record,
		       const struct gn_perf_header *header)
{
	const struct gn_event_attr *attr = gn_event_attr(&reader->file->attrs, event);
	const uint32_t number = (uint32_t)reader->profile->sample.n;
	const size_t n_values = reader->profile->value.n;
	struct gn_sample_sample *row;
	struct gn_file_sample taken;
	struct gn_map_set *maps;
	uint32_t thread;
	int failed;

	if (gn_file_sample_read(&taken, attr, record, header, reader->file->swaps))
		return gn_perf_refuse(reader->file, reader->file->at,
				      "a sample that is shorter than it says");
	thread = gn_tasks_thread(&reader->tasks, taken.pid, taken.tid);
	if (thread == GN_NO_NUMBER || number == UINT32_MAX)
		return -ENOMEM;
	row = gn_rows_add(&reader->profile->sample, sizeof(*row));
	if (!row)
		return -ENOMEM;
	row->thread = number_thread(reader, thread);
	if (row->thread == GN_NO_NUMBER)
		return -ENOMEM;
	row->time_ns = taken.time;
	row->cpu = (uint16_t)taken.cpu;
	row->event = (uint16_t)event;
	/* What has no period of its own has the event's: of a frequency nobody told. */
	row->weight = taken.has_period ? taken.period : attr->sample_period;
	maps = gn_file_process(&reader->tasks, gn_file_thread(&reader->tasks, thread)->process)
		       ->maps;
	failed = take_values(reader, &taken, attr, row, number);
	/* What has counted nothing since it was read last is no sample. */
	if (!failed && taken.n_values && !row->weight && reader->profile->value.n == n_values) {
		reader->profile->sample.n--;
		return 0;
	}
	if (!failed)
		failed = take_data(reader, &taken, number);
	if (!failed && !(attr->branch_type & GN_BRANCH_CALL_STACK))
		failed = take_branches(reader, &taken, maps, number);
	/* The last: a chain that was written elsewhere may take the place of the record. */
	if (!failed)
		failed = take_stack(reader, &taken, attr, maps, header->misc & GN_MISC_MODE);
	if (!failed)
		add_path(reader, maps, row);
	return failed;
}

static int take_mapping(struct reader *reader, const uint8_t *record,
			const struct gn_perf_header *header)
{
	struct gn_file_mapping mapping;
	uint32_t module;

	if (gn_file_mapping_read(&mapping, record, header, reader->file->swaps))
		return -EBADMSG;
	if (!mapping.is_code)
		return 0;
	module = gn_module_of(&reader->file->mapped, &mapping);
	return module == GN_NO_NUMBER ? -ENOMEM : gn_tasks_map(&reader->tasks, &mapping, module);
}

static int take_record(struct reader *reader, const struct gn_record_entry *entry)
{
	struct gn_perf_file *file = reader->file;
	struct gn_perf_header header;
	const uint8_t *record = gn_perf_record(file, entry->position, &header);
	uint32_t event;
	int failed;

	file->at = entry->position & ~GN_UNPACKED;
	if (!record)
		return gn_perf_refuse(file, file->at, "it cannot be read any more");
	switch (header.type) {
	case GN_RECORD_MMAP:
	case GN_RECORD_MMAP2:
		failed = take_mapping(reader, record, &header);
		break;
	case GN_RECORD_COMM:
		failed = gn_tasks_name(&reader->tasks, record, &header, file->swaps);
		break;
	case GN_RECORD_FORK:
		failed = gn_tasks_fork(&reader->tasks, record, &header, file->swaps);
		break;
	case GN_RECORD_SAMPLE:
		if (gn_record_event(&file->attrs, record, &header, &event) || event == GN_NO_NUMBER)
			return gn_perf_refuse(file, file->at, "it cannot be read any more");
		failed = take_sample(reader, event, record, &header);
		break;
	default:
		return gn_perf_refuse(file, file->at, "it cannot be read any more");
	}
	if (failed == -EBADMSG && !file->problem.text[0])
		return gn_perf_refuse(file, file->at, "a record of type %u with %u bytes",
				      header.type, header.size);
	return failed;
}

int gn_profile_read(struct gn_profile *profile, struct gn_perf_file *file, int machine)
{
	const struct gn_record_entry *entry = file->entry.row;
	struct reader *reader = calloc(1, sizeof(*reader));
	int failed = reader ? 0 : -ENOMEM;

	memset(profile, 0, sizeof(*profile));
	if (!failed)
		failed = gn_path_tree_begin(&profile->tree, NODES_MAX);
	if (!failed) {
		reader->profile = profile;
		reader->file = file;
		reader->machine = machine;
		reader->known = calloc(PLACES_KEPT, sizeof(*reader->known));
		/* A child's copy of its parent's maps has no bytes in the file. */
		failed = !reader->known ? -ENOMEM
					: gn_tasks_begin(&reader->tasks, &file->mapped,
							 (32u << 20) + file->file.size);
	}
	/* No address is looked up with this serial. */
	for (uint32_t i = 0; !failed && i < PLACES_KEPT; i++)
		reader->known[i].serial = UINT64_MAX;
	for (size_t i = 0; !failed && i < file->entry.n; i++)
		failed = take_record(reader, &entry[i]);
	if (reader) {
		profile->left_out_maps = reader->tasks.left_out;
		gn_tasks_end(&reader->tasks);
		free(reader->known);
	}
	free(reader);
	return failed;
}

void gn_profile_free(struct gn_profile *profile)
{
	gn_path_tree_end(&profile->tree);
	gn_rows_free(&profile->process);
	gn_rows_free(&profile->thread);
	gn_rows_free(&profile->sample);
	gn_rows_free(&profile->value);
	gn_rows_free(&profile->data);
	gn_rows_free(&profile->jump);
}
