// A queue with a condition variable: its consumer waits for what a slow producer brings.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

struct Queue {
	std::mutex mutex;
	std::condition_variable filled;
	std::queue<int> items;

	void put(int item)
	{
		std::lock_guard<std::mutex> guard(mutex);
		items.push(item);
		filled.notify_one();
	}

	__attribute__((noinline)) int get()
	{
		std::unique_lock<std::mutex> guard(mutex);
		filled.wait(guard, [this] { return !items.empty(); });
		int item = items.front();
		items.pop();
		return item;
	}
};

int main()
{
	Queue queue;
	std::thread consumer([&queue] {
		while (queue.get())
			;
	});

	for (int i = 5; i >= 0; i--) {
		std::this_thread::sleep_for(std::chrono::milliseconds(100));
		queue.put(i);
	}
	consumer.join();
	return 0;
}
