/* MIO_str_to_long() and MIO_str_to_long_vector(). */
#include <errno.h>
#include <string.h>

#include "gnomon/MIO_user.h"
#include "mio_number.h"
#include "result.h"

#define SEPARATORS ",: \t\n"

int64 MIO_str_to_long(const char *text)
{
	int64_t number = 0;
	const int result = text ? gn_mio_number(text, strlen(text), &number) : -EINVAL;

	return result ? gn_mio_returned(result) : number;
}

int MIO_str_to_long_vector(const char *text, int64 *numbers, int n)
{
	int n_numbers = 0;

	if (!text || n < 0 || (n && !numbers))
		return (int)gn_mio_returned(-EINVAL);
	for (text += strspn(text, SEPARATORS); *text && n_numbers < n;) {
		const size_t length = strcspn(text, SEPARATORS);
		const int result = gn_mio_number(text, length, &numbers[n_numbers]);

		if (result)
			return (int)gn_mio_returned(result);
		n_numbers++;
		text += length;
		text += strspn(text, SEPARATORS);
	}
	return n_numbers;
}
