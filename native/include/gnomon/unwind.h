/*
 * Call stacks from copies: registers and the top of a stack, as perf events deliver them
 * (PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER), become return addresses.
 *
 * A stack is unwound by the rules that compilers write into programs and libraries (DWARF call
 * frame information in .eh_frame, where that is missing in .debug_frame). A file's rules are copied
 * when the first address of it is looked up, and evaluated for one address at a time; nothing is
 * kept on disk. Where code has no rules: a trampoline or an epilogue is known by its bytes, a
 * function with a symbol by what its instructions do to the stack (x86-64), code that was generated
 * at run time keeps frame pointers, and of what is left the stack is searched for a return address,
 * which is marked as guessed.
 *
 * Files and stacks may hold anything: nothing is read outside of a copy, and all loops are bounded.
 * Functions return 0 or a negative errno. One thread uses a struct gn_unwind_files and all spaces
 * that belong to it. The library needs nothing but libc.
 */
#ifndef GNOMON_UNWIND_H
#define GNOMON_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GN_UNWIND_NO_FILE UINT32_MAX
#define GN_UNWIND_BUILD_ID_MAX 64

enum gn_unwind_machine {
	GN_UNWIND_X86_64,
	GN_UNWIND_AARCH64,
};

/* What this library was compiled for; -ENOTSUP elsewhere. */
int gn_unwind_own_machine(void);

/* DWARF's numbers. x86-64: 7 is rsp, 6 rbp, 16 the program counter; aarch64: 31 is sp, 32 the
 * program counter. */
#define GN_UNWIND_REGISTERS_MAX 33

struct gn_unwind_registers {
	uint64_t value[GN_UNWIND_REGISTERS_MAX];
	enum gn_unwind_machine machine;
	/* The sampled thread, as the process that unwinds sees it; 0 where it is not to be looked
	 * at. Its memory is read where a signal handler has a stack of its own, and beyond the
	 * copy.
	 */
	int32_t thread;
	/* The copy is so young that the thread is most likely in the same outer functions still. */
	bool is_fresh;
};

/* perf_event_attr.sample_regs_user for all that is needed. */
uint64_t gn_unwind_perf_mask(enum gn_unwind_machine machine);

/*
 * Registers of a sample that has them as gn_unwind_perf_mask() asks, in the kernel's order; `abi`
 * is the word before them (PERF_SAMPLE_REGS_ABI_*). -ENOTSUP: those of a 32-bit program, -ENODATA:
 * the sample has none, -EINVAL: another number of registers.
 */
int gn_unwind_from_perf(enum gn_unwind_machine machine, uint64_t abi, const uint64_t *values,
			size_t n, struct gn_unwind_registers *registers);

/* The other way, for a thread of which no more is known: values in the kernel's order, 0 but for
 * these two. How many there are. */
size_t gn_unwind_to_perf(enum gn_unwind_machine machine, uint64_t stack_pointer,
			 uint64_t program_counter, uint64_t values[GN_UNWIND_REGISTERS_MAX]);

/* Files and their rules, shared by all address spaces. */
struct gn_unwind_files;

int gn_unwind_files_new(struct gn_unwind_files **files);
/* After all of its spaces. */
void gn_unwind_files_free(struct gn_unwind_files *files);

/*
 * A file that no process maps, by its path: for gn_unwind_entry_bounds(). Those of mappings have
 * numbers of their own, from 0 on in the order in which they were first mapped.
 */
int gn_unwind_file_open(struct gn_unwind_files *files, const char *path, uint32_t *number);

uint32_t gn_unwind_files_count(const struct gn_unwind_files *files);
/*
 * As in the mapping, or as it is for us if the process that was looked at has another root; NULL
 * for a number that no file has. The inode is 0 where it is not known.
 */
const char *gn_unwind_file_path(const struct gn_unwind_files *files, uint32_t number);
uint64_t gn_unwind_file_inode(const struct gn_unwind_files *files, uint32_t number);
/* Number of bytes, 0 if the file has none or was not opened yet. */
size_t gn_unwind_file_build_id(const struct gn_unwind_files *files, uint32_t number,
			       uint8_t build_id[GN_UNWIND_BUILD_ID_MAX]);
/* 0, -EAGAIN: no address of it was looked up yet, or why it cannot be used. */
int gn_unwind_file_status(const struct gn_unwind_files *files, uint32_t number);

/*
 * The function that an address of a file belongs to, as far as the rules tell: first byte and the
 * first one behind. -ENOENT: no entry of the rules has it.
 */
int gn_unwind_entry_bounds(struct gn_unwind_files *files, uint32_t number, uint64_t offset,
			   uint64_t *start, uint64_t *end);

/* The address space of a process. */
struct gn_unwind_space;

/*
 * A mapping as PERF_RECORD_MMAP2 or /proc/PID/maps tells it. Files are the same if device, inode,
 * generation and path are; they are opened, when the first address is looked up, below
 * /proc/PID/root, by /proc/PID/map_files or, if the process is gone, by the path itself. Only what
 * may be executed (PROT_EXEC) counts as code. A path that begins with neither '/' nor "[vdso]" is
 * no file.
 */
struct gn_unwind_mapping {
	uint64_t start;
	uint64_t length;
	uint64_t file_offset;
	const char *path;
	uint32_t prot;
	uint64_t device;
	uint64_t inode;
	uint64_t generation;
};

int gn_unwind_space_new(struct gn_unwind_space **space, struct gn_unwind_files *files, int pid);
int gn_unwind_space_fork(struct gn_unwind_space **child, const struct gn_unwind_space *parent,
			 int pid);
void gn_unwind_space_free(struct gn_unwind_space *space);
/* Replaces what it overlaps. */
int gn_unwind_space_map(struct gn_unwind_space *space, const struct gn_unwind_mapping *mapping);
/* After execve(2): all mappings are gone. */
void gn_unwind_space_clear(struct gn_unwind_space *space);
/* How often it has been changed by these two. */
uint64_t gn_unwind_space_changes(const struct gn_unwind_space *space);
/* The code mapping of a number, from 0 on by their addresses: start, length, offset and path (""
 * where no file is), the path as long as the space. -ENOENT: there are fewer. */
int gn_unwind_space_mapping(const struct gn_unwind_space *space, uint32_t number,
			    struct gn_unwind_mapping *mapping);

/* How a frame was found; bits of struct gn_unwind_frame.flags. */
enum {
	/* By searching the stack: plausible, not certain. */
	GN_UNWIND_GUESSED = 1u << 0,
	/* The address is one that a call returns to, not one being executed. */
	GN_UNWIND_RETURN = 1u << 1,
	/* The kernel's way back from a signal handler. */
	GN_UNWIND_SIGNAL = 1u << 2,
	/* By the frame pointer, where the frame below has no rules. */
	GN_UNWIND_FRAME_POINTER = 1u << 3,
	/* By the instructions of the function below, which has no rules. */
	GN_UNWIND_BY_CODE = 1u << 4,
};

struct gn_unwind_frame {
	/* The program counter, or the address that a call returns to. */
	uint64_t address;
	/* The same as an address in the file (as linked), one less where a call returns to it; the
	 * address, likewise, where there is no file. */
	uint64_t offset;
	/* Number of the file, or GN_UNWIND_NO_FILE. */
	uint32_t file;
	uint32_t flags;
};

/* The frame that is executed at an address. -ENOENT: no code is known to be mapped there. */
int gn_unwind_space_find(struct gn_unwind_space *space, uint64_t address,
			 struct gn_unwind_frame *frame);

enum gn_unwind_end {
	/* The last frame is the outermost of its thread or coroutine. */
	GN_UNWIND_COMPLETE,
	/* The stack goes on beyond what was copied. */
	GN_UNWIND_STACK_CUT,
	/* The last frame's code has no rules and could not be guessed. */
	GN_UNWIND_NO_RULES,
	/* The rules lead nowhere: to memory that is no stack, or not upwards. */
	GN_UNWIND_BAD_MEMORY,
	/* More frames than there is room for. */
	GN_UNWIND_TOO_DEEP,
};

struct gn_unwind_result {
	uint32_t n;
	enum gn_unwind_end end;
	/* Frames marked GN_UNWIND_GUESSED. */
	uint32_t n_guessed;
	/* More than the copy was needed, whether it could be read or not. */
	bool is_beyond;
};

/*
 * Unwinds a stack, of which `stack` is a copy from `stack_address` on, into at most n_max frames,
 * innermost first. Fails (-EINVAL) only if called wrongly; how far it came says the result.
 */
int gn_unwind_stack(struct gn_unwind_space *space, const struct gn_unwind_registers *registers,
		    const void *stack, uint64_t stack_address, size_t stack_bytes,
		    struct gn_unwind_frame *frames, uint32_t n_max,
		    struct gn_unwind_result *result);

#ifdef __cplusplus
}
#endif

#endif
