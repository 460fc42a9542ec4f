#include "pf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct report {
	struct gn_mio_output *output;
	const char *tag;
};

__attribute__((format(printf, 2, 3))) static void add_line(const struct report *report,
							   const char *format, ...)
{
	char line[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	gn_mio_print(report->output, "%s%s\n", report->tag, line);
}

static void add_bytes(const struct report *report, const char *what, uint64_t times, uint64_t bytes,
		      int64_t unit)
{
	static const char *const name[] = {"bytes", "kbytes", "mbytes", "gbytes", "tbytes"};
	int i = 0;

	for (int64_t rest = unit; rest > 1; rest >>= 10)
		i++;
	add_line(report, "  %-28s %12" PRIu64 "  %14.*f %s", what, times, i ? 2 : 0,
		 (double)bytes / (double)unit, name[i]);
}

void gn_pf_tell(struct gn_mio_layer *layer, struct gn_mio_output *output, int is_final)
{
	const struct gn_mio_setting *setting = layer->setting;
	const struct gn_pf *pf = layer->state;
	const struct gn_pf_counts *count = &pf->count;
	const struct gn_prefetch *prefetch = &pf->prefetch;
	const int64_t unit = setting[GN_PF_UNIT].number;
	const char *tag = setting[GN_PF_TAG].number ? setting[GN_PF_TAG].text : NULL;
	const struct report report = {output, tag ? tag : ""};

	if (!setting[GN_PF_STATS].number || (!is_final && !setting[GN_PF_INTER].number))
		return;
	gn_mio_print(output, "%spf: %s\n", report.tag, layer->file->path);
	add_bytes(&report, "reads", count->reads + count->hits,
		  count->read_bytes + count->hit_bytes, unit);
	add_bytes(&report, "of these by the last page", count->hits, count->hit_bytes, unit);
	add_bytes(&report, "pages filled", count->fills, count->fill_bytes, unit);
	add_bytes(&report, "pages read ahead", count->pages_ahead,
		  count->pages_ahead * pf->page_bytes, unit);
	add_bytes(&report, "writes", count->writes, count->write_bytes, unit);
	add_line(&report, "  %-28s %12" PRIu64 "  dropped %" PRIu64, "looks at the file",
		 count->checks, count->drops);
	add_line(&report, "  %-28s %12" PRIu64 "  stepped aside %" PRIu64, "trials of prefetch",
		 prefetch->trials, prefetch->steps_aside);
	add_bytes(&report, "advice to the kernel", prefetch->advice,
		  prefetch->engine_bytes[GN_ENGINE_ADVICE], unit);
	add_bytes(&report, "pages by threads", prefetch->stream.begun, prefetch->stream.bytes_read,
		  unit);
}
