/*
 * For the tests that compare with Python: what the names on standard input, one a line, resolve to,
 * one JSON object a line.
 *
 *	print_events [SYSFS [TRACEFS [MODELS]]]	another machine's trees; "" for this machine's
 */
#include <stdio.h>
#include <string.h>

#include "formula.h"
#include "presets.h"
#include "query.h"

#define EVENTS_MAX 4096

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < ' ')
			printf("\\u%04x", (unsigned char)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void print_formula(const struct gn_event *event)
{
	static const char symbols[] = "??+-*/";

	putchar('"');
	for (int i = 0; i < event->ops; i++) {
		const struct gn_op *op = &event->op[i];

		if (op->kind == GN_OP_NATIVE)
			printf("N%d|", op->native);
		else if (op->kind == GN_OP_CONSTANT)
			printf("%.17g|", op->constant);
		else if (op->kind == GN_OP_SECONDS)
			printf("seconds|");
		else
			printf("%c|", symbols[op->kind]);
	}
	putchar('"');
}

/* What the event comes to of counts that the tests know. */
static void print_value(const struct gn_event *event)
{
	double counts[GN_NATIVES_MAX], value;

	for (int i = 0; i < event->n; i++)
		counts[i] = 1000.0 * i * i + 7;
	if (event->ops && !gn_event_evaluate_timed(event, counts, 0.5, &value))
		printf(", \"value\": %.17g", value);
	else
		printf(", \"value\": null");
}

static void print_event(const struct gn_event *event)
{
	printf("{\"name\": ");
	print_text(event->name);
	printf(", \"unit\": ");
	print_text(event->unit);
	printf(", \"component\": %d, \"flags\": %u, \"domain\": %d, \"scale\": %.17g, \"code\": %u",
	       event->component, event->flags, event->domain, event->scale,
	       (unsigned int)event->code);
	printf(", \"terms\": [");
	for (int i = 0; i < event->n; i++) {
		const struct gn_event_spec *spec = &event->spec[i];

		printf("%s[%lld, %u, %llu, %llu, %llu, %llu, %u]", i ? ", " : "",
		       (long long)event->factor[i], spec->type, (unsigned long long)spec->config,
		       (unsigned long long)spec->config1, (unsigned long long)spec->config2,
		       (unsigned long long)spec->config3, spec->exclude);
	}
	printf("], \"formula\": ");
	print_formula(event);
	print_value(event);
	putchar('}');
}

static void resolve(const struct gn_places *places, const char *name)
{
	static struct gn_event *found[EVENTS_MAX];
	struct gn_error_text why = {.text = ""};
	int n;
	const int error = gn_resolve_at(places, name, found, EVENTS_MAX, &n, &why);

	printf("{\"error\": %d, \"message\": ", error);
	print_text(error ? why.text : "");
	printf(", \"events\": [");
	for (int i = 0; i < n; i++) {
		if (i)
			printf(", ");
		print_event(found[i]);
		gn_event_free(found[i]);
	}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	struct gn_places places = gn_this_machine;
	char line[65536];

	if (argc > 1 && *argv[1])
		places.sysfs = argv[1];
	if (argc > 2 && *argv[2])
		places.tracefs = argv[2];
	if (argc > 3 && *argv[3])
		places.models = argv[3];
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		resolve(&places, line);
	}
	return 0;
}
