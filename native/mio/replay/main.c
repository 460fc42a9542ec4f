/*
 * gnomon-io-replay: what a program did to a file, done again with other modules; and which list of
 * modules MIO_FILES has for paths. `gnomon io --advise` starts it.
 *
 *	gnomon-io-replay play LIST FILE FOLDER MODULES	"" as MODULES: system calls
 *	gnomon-io-replay match MIO_FILES		paths from standard input, each ended by a
 * zero
 *
 * `play` writes one line of a name and a number for each result, `match` one number for each path:
 * of its list, from 0, or -1. 0; 1 after a line on stderr.
 */
#include <errno.h>
#include <gnomon/clock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "mio_output.h"
#include "replay_run.h"

static const char *const allowed_modules[] = {"mio", "pf", "wb", "aix"};

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	return 1;
}

static int complain_of_text(const char *name, const char *text, const struct gn_mio_error *error)
{
	char lines[640];

	gn_mio_error_text(error, name, text, lines, sizeof(lines));
	fputs(lines, stderr);
	return 1;
}

static int is_default(const struct gn_mio_setting *setting, const struct gn_mio_setting *of_module)
{
	if (setting->text && of_module->text)
		return !strcmp(setting->text, of_module->text);
	return !setting->text && !of_module->text;
}

/* None that changes flags of open(2), or names a file to write to. */
static int is_allowed(const struct gn_mio_invocation *layer)
{
	const struct gn_mio_module *module = layer->module;
	const int is_ours = !strcmp(module->name, "mio") || !strcmp(module->name, "aix");
	int is_known = 0;

	for (size_t i = 0; i < sizeof(allowed_modules) / sizeof(*allowed_modules); i++)
		is_known |= !strcmp(module->name, allowed_modules[i]);
	for (uint32_t i = 0; i < module->n_settings && is_known; i++) {
		if (!is_default(&layer->setting[i], &module->defaults[i]))
			return 0;
		if (is_ours && layer->setting[i].number != module->defaults[i].number)
			return 0;
	}
	return is_known;
}

static int play_list(const struct gn_replay_list *list, struct gn_replayed_file *file,
		     const struct gn_mio_list *modules)
{
	struct gn_replay_result result;
	int64_t cached;
	int status;

	if (list->header.flags & GN_REPLAY_COLD)
		gn_replayed_file_cool(file);
	else
		gn_replayed_file_warm(file);
	cached = gn_replayed_file_cached(file);
	status = gn_replay_run(list, file, modules, &result);
	if (status)
		return complain("the replay", strerror(-status));
	printf("ns %llu\nread_bytes %llu\nwritten_bytes %llu\nfailures %llu\nerrno %d\n"
	       "is_scratch %d\ncached_bytes %lld\nused_bytes %llu\n",
	       (unsigned long long)result.ns, (unsigned long long)result.read_bytes,
	       (unsigned long long)result.written_bytes, (unsigned long long)result.failures,
	       result.first_errno, file->is_scratch, (long long)cached,
	       (unsigned long long)file->used_bytes);
	return 0;
}

static int play(const char *list_path, const char *path, const char *folder,
		const struct gn_mio_list *modules)
{
	struct gn_replay_error error;
	struct gn_replayed_file file;
	struct gn_replay_list list;
	char message[512];
	int status;

	if (gn_replay_list_read(&list, list_path, &error)) {
		snprintf(message, sizeof(message), "at byte %llu: %s",
			 (unsigned long long)error.offset, error.message);
		return complain(list_path, message);
	}
	if (gn_replayed_file_open(&file, &list, path, folder, message, sizeof(message))) {
		fprintf(stderr, "%s\n", message);
		status = 1;
	} else {
		status = play_list(&list, &file, modules);
		gn_replayed_file_close(&file);
	}
	gn_replay_list_free(&list);
	return status;
}

static int play_with(const struct gn_mio_defaults *defaults, char **words)
{
	struct gn_mio_error error = {0, "there is no memory"};
	struct gn_mio_list modules;
	int status;

	if (!words[3][0])
		return play(words[0], words[1], words[2], NULL);
	if (gn_mio_list_read(&modules, defaults, words[3], &error)) {
		gn_mio_list_free(&modules);
		return complain_of_text("modules", words[3], &error);
	}
	for (uint32_t i = 0; i < modules.n; i++) {
		if (!is_allowed(&modules.layer[i])) {
			gn_mio_list_free(&modules);
			return complain(words[3], "only pf and wb are replayed, and write no file");
		}
	}
	status = play(words[0], words[1], words[2], &modules);
	gn_mio_list_free(&modules);
	return status;
}

static int match(const struct gn_mio_defaults *defaults, const char *text)
{
	struct gn_mio_error error = {0, "there is no memory"};
	struct gn_mio_files files;
	char *path = NULL;
	size_t size = 0;
	int status = 0;

	if (gn_mio_files_read(&files, defaults, text, &error)) {
		status = complain_of_text("MIO_FILES", text, &error);
	} else {
		while (getdelim(&path, &size, 0, stdin) > 0) {
			const char *name_template;
			const struct gn_mio_rule *rule =
				gn_mio_files_match(&files, path, &name_template);

			printf("%td\n", rule ? rule - files.rule : (ptrdiff_t)-1);
		}
	}
	free(path);
	gn_mio_files_free(&files);
	return status;
}

int main(int n, char **words)
{
	static const struct gn_mio_variables variables = {.stats = "/dev/null"};
	struct gn_mio_error error = {0, "there is no memory"};
	struct gn_mio_registry registry;
	struct gn_mio_defaults defaults;
	int status;

	/* Who asked for it is gone: so is what it is for. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	gn_clock_init();
	gn_mio_output_configure(&variables, 0);
	gn_mio_registry_begin(&registry);
	if (gn_mio_defaults_read(&defaults, &registry, NULL, &error))
		status = complain("modules", error.message);
	else if (n == 6 && !strcmp(words[1], "play"))
		status = play_with(&defaults, words + 2);
	else if (n == 3 && !strcmp(words[1], "match"))
		status = match(&defaults, words[2]);
	else
		status = complain("gnomon-io-replay",
				  "play LIST FILE FOLDER MODULES, or match MIO_FILES");
	gn_mio_defaults_free(&defaults);
	if (fflush(stdout) && !status)
		status = complain("standard output", strerror(errno));
	return status;
}
