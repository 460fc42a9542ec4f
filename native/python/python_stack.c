/* Where sections of Python are entered. */
#include "python_stack.h"

#include <stdlib.h>
#include <string.h>

#include <gnomon/libhpm.h>

/* Of deeper recursion the innermost functions. */
#define FRAMES_MAX 128
#define STACK_BUCKETS 1024
/* More than libhpm keeps values of; what comes then has no place of its own there, either. */
#define STACKS_MAX 65536

/* Functions of Python, the innermost first, and what libhpm is told of them. */
struct python_stack {
	struct python_stack *next;
	char *text;
	int n;
	struct python_frame {
		PyObject *code; /* owned, so that no other gets its address */
		long instruction;
	} frame[];
};

static struct python_stack *stacks[STACK_BUCKETS];
static int n_stacks;

/* Takes over a reference in the place of another. */
static void replace(PyObject **object, PyObject *with)
{
	PyObject *before = *object;

	*object = with;
	Py_XDECREF(before);
}

/* "python LINE FUNCTION\tFILE\n". 0, or -1 if that raised. */
static int append_line(PyObject **text, PyObject *code, int line)
{
	PyObject *name = PyObject_GetAttrString(code, "co_qualname");
	PyObject *file = PyObject_GetAttrString(code, "co_filename");
	PyObject *own = NULL, *longer = NULL;

	if (name && file)
		own = PyUnicode_FromFormat("python %d %U\t%U\n", line, name, file);
	/* The outermost comes first. */
	if (own)
		longer = PyUnicode_Concat(own, *text);
	Py_XDECREF(own);
	Py_XDECREF(name);
	Py_XDECREF(file);
	if (!longer)
		return -1;
	replace(text, longer);
	return 0;
}

/* The text of a new stack as libhpm keeps it; NULL: that raised. */
static char *text_of(const struct python_frame *frame, const int *line, int n)
{
	PyObject *text = PyUnicode_FromString(""), *bytes = NULL;
	char *kept = NULL;

	for (int i = 0; text && i < n; i++)
		if (append_line(&text, frame[i].code, line[i]))
			Py_CLEAR(text);
	if (text)
		bytes = PyUnicode_EncodeFSDefault(text);
	if (bytes)
		kept = strdup(PyBytes_AsString(bytes));
	Py_XDECREF(bytes);
	Py_XDECREF(text);
	return kept;
}

static struct python_stack *new_stack(const struct python_frame *frame, const int *line, int n)
{
	struct python_stack *stack = malloc(sizeof(*stack) + (size_t)n * sizeof(*frame));

	if (!stack)
		return NULL;
	stack->text = text_of(frame, line, n);
	if (!stack->text) {
		free(stack);
		return NULL;
	}
	stack->n = n;
	memcpy(stack->frame, frame, (size_t)n * sizeof(*frame));
	for (int i = 0; i < n; i++)
		Py_INCREF(frame[i].code);
	return stack;
}

/* The functions that are running, the innermost first; how many there are. */
static int read_frames(struct python_frame *frame, int *line)
{
	PyObject *here = Py_XNewRef((PyObject *)PyEval_GetFrame());
	int n = 0;

	while (here && here != Py_None && n < FRAMES_MAX) {
		PyObject *instruction = PyObject_GetAttrString(here, "f_lasti");
		PyObject *above = PyObject_GetAttrString(here, "f_back");

		frame[n].code = (PyObject *)PyFrame_GetCode((PyFrameObject *)here);
		frame[n].instruction = instruction ? PyLong_AsLong(instruction) : -1;
		line[n] = -1;
		n++;
		Py_XDECREF(instruction);
		replace(&here, above);
	}
	Py_XDECREF(here);
	return n;
}

/* Only a new stack is asked for its lines, which takes longer than all else. */
static void read_lines(int *line, int n)
{
	PyObject *here = Py_XNewRef((PyObject *)PyEval_GetFrame());

	for (int i = 0; here && here != Py_None && i < n; i++) {
		PyObject *above = PyObject_GetAttrString(here, "f_back");

		line[i] = PyFrame_GetLineNumber((PyFrameObject *)here);
		replace(&here, above);
	}
	Py_XDECREF(here);
}

static int is_stack(const struct python_stack *stack, const struct python_frame *frame, int n)
{
	for (int i = 0; i < n; i++)
		if (stack->n != n || stack->frame[i].code != frame[i].code ||
		    stack->frame[i].instruction != frame[i].instruction)
			return 0;
	return stack->n == n;
}

void gn_python_stack_tell(void)
{
	struct python_frame frame[FRAMES_MAX];
	int line[FRAMES_MAX];
	const int n = read_frames(frame, line);
	struct python_stack **bucket, *stack;
	size_t hash = 0;

	for (int i = 0; i < n; i++)
		hash = (hash ^ (size_t)frame[i].code >> 4 ^ (size_t)frame[i].instruction << 20) *
		       0x9e3779b97f4a7c15u;
	bucket = &stacks[(hash >> 32) % STACK_BUCKETS];
	for (stack = *bucket; stack && !is_stack(stack, frame, n);)
		stack = stack->next;
	if (!stack && n_stacks < STACKS_MAX) {
		read_lines(line, n);
		stack = new_stack(frame, line, n);
		if (stack) {
			n_stacks++;
			stack->next = *bucket;
			*bucket = stack;
		}
	}
	for (int i = 0; i < n; i++)
		Py_DECREF(frame[i].code);
	if (stack)
		hpmCalledFrom(stack->text);
	/* Whatever failed, the section then has the interpreter's own functions. */
	PyErr_Clear();
}
