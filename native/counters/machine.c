/*
 * Rights of this process; hypervisor and container by the traces that they leave.
 *
 * Source: proc(5), capabilities(7), namespaces(7), Documentation/admin-guide/sysctl/kernel.rst; the
 * x86 `hypervisor` flag (CPUID 1, ECX bit 31), Documentation/ABI/testing/sysfs-firmware-dmi.
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define DIGITS "0123456789"
#define CAPABILITIES ((uint64_t)1 << 21 | (uint64_t)1 << 38) /* CAP_SYS_ADMIN, CAP_PERFMON */
#define CPUINFO_BYTES 8192

/* A number of 1 to 18 decimal digits, -1 for other text. */
static long long whole(const char *text)
{
	const size_t length = strlen(text);

	return length && length <= 18 && strspn(text, DIGITS) == length ? strtoll(text, NULL, 10)
									: -1;
}

/* The first line of a file, without the blanks around it. */
static void line_of(char *line, size_t size, const char *root, const char *path)
{
	gn_file_start(line, size, "%s/%s", root, path);
	line[strcspn(line, "\n")] = '\0';
	for (size_t end = strlen(line); end && strchr("\1 \t\r", line[end - 1]); end--)
		line[end - 1] = '\0';
}

long long gn_number_in(const char *root, const char *path)
{
	char line[64];

	line_of(line, sizeof(line), root, path);
	return whole(line);
}

/* The value of the first line `key: value`, "" if there is none. */
static void value_of(const char *text, const char *key, char *value, size_t size)
{
	*value = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *colon, *end;

		line += *line == '\n';
		end = line + strcspn(line, "\n");
		colon = memchr(line, ':', (size_t)(end - line));
		line += strspn(line, " \t");
		if (!colon || colon < line || strncmp(line, key, strlen(key)))
			continue;
		line += strlen(key);
		if (line + strspn(line, " \t") < colon)
			continue;
		snprintf(value, size, "%.*s", (int)(end - colon - 1), colon + 1);
		memmove(value, gn_strip(value), strlen(gn_strip(value)) + 1);
		return;
	}
}

static void open_files(const char *root, struct gn_rights *rights)
{
	static const char title[] = "Max open files";
	char text[GN_FILE_MAX], soft[32] = "", hard[32] = "";
	const char *line;

	rights->open_files = rights->open_files_hard = -1;
	gn_file_start(text, sizeof(text), "%s/proc/self/limits", root);
	line = strncmp(text, title, strlen(title)) ? strstr(text, "\nMax open files") : text - 1;
	if (!line || sscanf(line + 1 + strlen(title), "%31s %31s", soft, hard) < 1)
		return;
	rights->open_files = whole(soft);
	rights->open_files_hard = whole(hard);
}

void gn_rights(const char *root, struct gn_rights *rights)
{
	char text[2 * GN_FILE_MAX], value[64], line[64], *end;
	uint64_t capabilities;
	unsigned long long map[3] = {0};

	memset(rights, 0, sizeof(*rights));
	line_of(line, sizeof(line), root, "proc/sys/kernel/perf_event_paranoid");
	rights->paranoid = whole(line + (*line == '-'));
	rights->has_paranoid = rights->paranoid >= 0;
	if (*line == '-')
		rights->paranoid = -rights->paranoid;
	gn_file_start(text, sizeof(text), "%s/proc/self/status", root);
	value_of(text, "CapEff", value, sizeof(value));
	capabilities = strtoull(value, &end, 16);
	if (*end)
		capabilities = 0;
	value_of(text, "Seccomp", value, sizeof(value));
	rights->seccomp = whole(value);
	line_of(line, sizeof(line), root, "proc/self/uid_map");
	rights->is_in_user_namespace =
		*line && (sscanf(line, "%llu %llu %llu", &map[0], &map[1], &map[2]) != 3 ||
			  map[0] || map[1] || map[2] != 4294967295u);
	rights->is_privileged = (capabilities & CAPABILITIES) && !rights->is_in_user_namespace;
	open_files(root, rights);
}

/* --- hypervisors ------------------------------------------------------------------------------ */

#define QEMU_REMEDY                                                                                \
	"libvirt: `<features><pmu state='on'/></features>` and CPU mode host-passthrough; qemu: "  \
	"`-cpu host,pmu=on`"

static const char any_remedy[] =
	"switch the virtual PMU on where the virtual machine is configured, or run on the host";

static const char *const pmu_remedies[][2] = {
	{"KVM", QEMU_REMEDY},
	{"KVM/QEMU", QEMU_REMEDY},
	{"Firecracker",
	 "Firecracker has no virtual PMU: run on the host or on a bare-metal instance"},
	{"VMware", "switch on 'Virtualize CPU performance counters' in the machine's CPU settings "
		   "(vpmc.enable = \"TRUE\" in its .vmx file)"},
	{"Hyper-V", "on the host, with the machine off: `Set-VMProcessor NAME -Perfmon @('pmu')`"},
	{"Xen", "boot the Xen host with `vpmu=on`"},
	{"VirtualBox", "VirtualBox has no virtual PMU: run on the host, or under KVM"},
	{"PowerVM", "on the HMC, allow performance information collection for this partition"},
};

static const char *const cloud_remedies[][2] = {
	{"AWS", "take a .metal instance, or a size that fills a whole socket"},
	{"GCP", "create the instance with `--performance-monitoring-unit=standard` (machine types "
		"that have it: see its documentation), or take a bare-metal one"},
	{"Azure", "Azure has no setting for it: take a bare-metal machine"},
};

/* Field of /sys/class/dmi/id, what it begins with, product, cloud. */
static const char *const dmi[][4] = {
	{"sys_vendor", "Amazon EC2", "KVM", "AWS"},
	{"bios_vendor", "Amazon EC2", "KVM", "AWS"},
	{"bios_version", "4.2.amazon", "Xen", "AWS"},
	{"product_name", "Google Compute Engine", "KVM", "GCP"},
	{"chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "Hyper-V", "Azure"},
	{"sys_vendor", "Alibaba Cloud", "KVM", "Alibaba Cloud"},
	{"sys_vendor", "OpenStack Foundation", "KVM", "OpenStack"},
	{"sys_vendor", "DigitalOcean", "KVM", "DigitalOcean"},
	{"sys_vendor", "Hetzner", "KVM", "Hetzner"},
	{"sys_vendor", "VMware", "VMware", ""},
	{"product_name", "VMware", "VMware", ""},
	{"product_name", "VirtualBox", "VirtualBox", ""},
	{"sys_vendor", "innotek GmbH", "VirtualBox", ""},
	{"sys_vendor", "Xen", "Xen", ""},
	{"product_name", "KVM", "KVM", ""},
	{"sys_vendor", "QEMU", "KVM/QEMU", ""},
	{"product_name", "Standard PC", "KVM/QEMU", ""},
};

static const char *const clocks[][2] = {
	{"kvm-clock", "KVM"}, {"hyperv_clocksource_tsc_page", "Hyper-V"}, {"xen", "Xen"}};

/* Product and cloud of a hypervisor. */
struct make {
	char kind[64];
	const char *cloud;
};

static void set_make(struct make *make, const char *kind, const char *cloud)
{
	snprintf(make->kind, sizeof(make->kind), "%s", kind);
	make->cloud = cloud;
}

static int begins(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static void lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text - 'A' + 'a');
}

/* Firecracker has no DMI; its ACPI tables (readable by root) and its command line tell. */
static int by_firmware(const char *root, struct make *make)
{
	char text[GN_FILE_MAX];

	gn_file_start(text, 33, "%s/sys/firmware/acpi/tables/DSDT", root);
	if (!strstr(text, "FIRECK")) {
		gn_file_start(text, sizeof(text), "%s/proc/cmdline", root);
		lower(text);
		if (!strstr(text, "firecracker"))
			return 0;
	}
	set_make(make, "Firecracker", "");
	return 1;
}

static void dmi_field(const char *root, const char *field, char *line, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/class/dmi/id/%s", field);
	line_of(line, size, root, path);
}

/* 1; 0: DMI does not tell; -1: it tells that there is none. */
static int by_dmi(const char *root, struct make *make)
{
	char line[256];

	for (size_t i = 0; i < COUNT(dmi); i++) {
		dmi_field(root, dmi[i][0], line, sizeof(line));
		if (!begins(line, dmi[i][1]))
			continue;
		dmi_field(root, "product_name", line, sizeof(line));
		if (!strcmp(dmi[i][3], "AWS") && strstr(line, ".metal"))
			return -1;
		set_make(make, dmi[i][2], dmi[i][3]);
		return 1;
	}
	dmi_field(root, "sys_vendor", line, sizeof(line));
	if (strcmp(line, "Microsoft Corporation"))
		return 0;
	dmi_field(root, "product_name", line, sizeof(line));
	if (!begins(line, "Virtual Machine"))
		return 0;
	set_make(make, "Hyper-V", "");
	return 1;
}

/* What a POWER or arm64 machine's device tree says. */
static int by_device_tree(const char *root, struct make *make)
{
	static const char *const makes[][2] = {{"xen", "Xen"}, {"kvm", "KVM"}};
	char text[GN_FILE_MAX];

	gn_file_start(text, sizeof(text), "%s/proc/device-tree/hypervisor/compatible", root);
	for (size_t i = 0; i < COUNT(makes); i++) {
		if (strstr(text, makes[i][0])) {
			set_make(make, makes[i][1], "");
			return 1;
		}
	}
	line_of(text, sizeof(text), root, "proc/device-tree/model");
	lower(text);
	if (strstr(text, "qemu")) {
		set_make(make, "KVM/QEMU", "");
		return 1;
	}
	if (gn_file_exists("%s/proc/device-tree/ibm,partition-name", root)) {
		set_make(make, "PowerVM", "");
		return 1;
	}
	gn_file_start(text, sizeof(text), "%s/proc/device-tree/compatible", root);
	if (!strstr(text, "linux,dummy-virt"))
		return 0;
	set_make(make, "KVM/QEMU", "");
	return 1;
}

static int by_clock(const char *root, struct make *make)
{
	char line[256], *rest = line, *word;

	line_of(line, sizeof(line), root,
		"sys/devices/system/clocksource/clocksource0/available_clocksource");
	while ((word = strsep(&rest, " \t"))) {
		for (size_t i = 0; i < COUNT(clocks); i++) {
			if (strcmp(word, clocks[i][0]))
				continue;
			set_make(make, clocks[i][1], "");
			return 1;
		}
	}
	return 0;
}

static int by_kernel(const char *root, struct make *make)
{
	char line[64];

	line_of(line, sizeof(line), root, "sys/hypervisor/type");
	if (*line) {
		lower(line);
		if (*line >= 'a' && *line <= 'z')
			*line = (char)(*line - 'a' + 'A');
		set_make(make, line, "");
		return 1;
	}
	if (by_device_tree(root, make))
		return 1;
	if (gn_has_names("%s/sys/bus/vmbus/devices", root) > 0) {
		set_make(make, "Hyper-V", "");
		return 1;
	}
	return by_clock(root, make);
}

static int has_word(const char *text, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at++)
		if ((at == text || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return 1;
	return 0;
}

static const char *remedy_of(const struct make *make)
{
	for (size_t i = 0; i < COUNT(cloud_remedies); i++)
		if (!strcmp(make->cloud, cloud_remedies[i][0]))
			return cloud_remedies[i][1];
	for (size_t i = 0; i < COUNT(pmu_remedies); i++)
		if (!strcmp(make->kind, pmu_remedies[i][0]))
			return pmu_remedies[i][1];
	return any_remedy;
}

int gn_hypervisor(const char *root, struct gn_hypervisor *hypervisor)
{
	char cpuinfo[CPUINFO_BYTES + 1], flags[CPUINFO_BYTES];
	struct make make = {.cloud = ""};
	int found;

	gn_file_start(cpuinfo, sizeof(cpuinfo), "%s/proc/cpuinfo", root);
	value_of(cpuinfo, "flags", flags, sizeof(flags));
	if (*flags && !has_word(flags, "hypervisor"))
		return 0;
	found = by_firmware(root, &make);
	if (!found)
		found = by_dmi(root, &make);
	if (found <= 0)
		found = by_kernel(root, &make);
	if (!found && !*flags)
		return 0;
	snprintf(hypervisor->name, sizeof(hypervisor->name), "%s%s%s",
		 *make.kind ? make.kind : "of unknown make", *make.cloud ? " at " : "", make.cloud);
	hypervisor->pmu_remedy = remedy_of(&make);
	return 1;
}

/* --- containers ------------------------------------------------------------------------------- */

/* Inode numbers of include/uapi/linux/nsfs.h, the same in every kernel since Linux 3.8. */
static int has_first_namespaces(const char *root)
{
	static const char *const links[][2] = {{"pid", "pid:[4026531836]"},
					       {"uts", "uts:[4026531838]"}};

	for (size_t i = 0; i < COUNT(links); i++) {
		char path[GN_PATH_MAX], link[64];
		ssize_t length;

		if (snprintf(path, sizeof(path), "%s/proc/self/ns/%s", root, links[i][0]) >=
		    (int)sizeof(path))
			return 0;
		length = readlink(path, link, sizeof(link) - 1);
		link[length > 0 ? length : 0] = '\0';
		if (strcmp(link, links[i][1]))
			return 0;
	}
	return 1;
}

static void set_engine(char *engine, const char *name, size_t length)
{
	snprintf(engine, 64, "%.*s", (int)(length < 63 ? length : 63), name);
}

/* container=..., which systemd and others set for process 1; Kubernetes has variables of its own.
 */
static int by_environment(const char *root, char *engine)
{
	char text[32768], *rest = text, *entry;

	gn_file_start(text, sizeof(text), "%s/proc/1/environ", root);
	while ((entry = strsep(&rest, "\1"))) {
		char *value = strchr(entry, '=');

		if (value)
			*value++ = '\0';
		if (!strcmp(entry, "container") && value && *value) {
			set_engine(engine, value, strlen(value));
			return 1;
		}
		if (!strcmp(entry, "KUBERNETES_SERVICE_HOST")) {
			set_engine(engine, "kubernetes", strlen("kubernetes"));
			return 1;
		}
	}
	return 0;
}

static int is_name_character(char one)
{
	return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') ||
	       (one >= '0' && one <= '9') || one == '_' || (unsigned char)one >= 0x80;
}

/* A folder's name that is an engine's, or begins as those of an engine do. */
static int by_cgroup(const char *root, char *engine)
{
	static const char *const engines[] = {"docker", "lxc",	"kubepods",
					      "libpod", "crio", "garden"};
	char text[2 * GN_FILE_MAX];

	gn_file_start(text, sizeof(text), "%s/proc/1/cgroup", root);
	for (const char *at = text; (at = strchr(at, '/')); at++) {
		for (size_t i = 0; i < COUNT(engines); i++) {
			const size_t length = strlen(engines[i]);
			const char *end = at + 1 + length;

			if (strncmp(at + 1, engines[i], length))
				continue;
			if ((*end && strchr("-./", *end)) || (i < 3 && !is_name_character(*end))) {
				set_engine(engine, engines[i], length);
				return 1;
			}
		}
	}
	return 0;
}

int gn_container(const char *root, char engine[64])
{
	if (has_first_namespaces(root))
		return 0;
	if (gn_file_exists("%s/run/.containerenv", root)) {
		set_engine(engine, "podman", strlen("podman"));
		return 1;
	}
	if (gn_file_exists("%s/.dockerenv", root)) {
		set_engine(engine, "docker", strlen("docker"));
		return 1;
	}
	return by_environment(root, engine) || by_cgroup(root, engine);
}
