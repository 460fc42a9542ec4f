// C++20 coroutines: resumed from functions, from each other, and with an exception on its way out.
#include <coroutine>
#include <exception>
#include <stdexcept>
#include <utility>

static volatile int sink;

struct Numbers {
	struct promise_type {
		int value = 0;
		std::exception_ptr error;
		Numbers get_return_object()
		{
			return Numbers(std::coroutine_handle<promise_type>::from_promise(*this));
		}
		std::suspend_always initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(int number)
		{
			value = number;
			return {};
		}
		void return_void() {}
		void unhandled_exception() { error = std::current_exception(); }
	};

	explicit Numbers(std::coroutine_handle<promise_type> handle) : handle(handle) {}
	Numbers(Numbers &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
	Numbers(const Numbers &) = delete;
	~Numbers()
	{
		if (handle)
			handle.destroy();
	}

	__attribute__((noinline)) bool next()
	{
		handle.resume();
		if (handle.promise().error)
			std::rethrow_exception(handle.promise().error);
		return !handle.done();
	}
	int value() const { return handle.promise().value; }

	std::coroutine_handle<promise_type> handle;
};

__attribute__((noinline)) static int leaf(int x)
{
	return x * 3 + sink;
}

static Numbers counted(int n)
{
	for (int i = 0; i < n; i++)
		co_yield leaf(i);
	if (n > 3)
		throw std::runtime_error("too many");
}

static Numbers doubled(int n)
{
	Numbers numbers = counted(n);
	while (numbers.next())
		co_yield leaf(numbers.value()) * 2;
}

__attribute__((noinline)) static int total(int n)
{
	int sum = 0;
	Numbers numbers = doubled(n);
	while (numbers.next())
		sum += leaf(numbers.value());
	return sum;
}

int main()
{
	sink = total(3);
	try {
		sink = total(4);
	} catch (const std::runtime_error &) {
		sink = sink + 1;
	}
	return 0;
}
