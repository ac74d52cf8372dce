import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchCluster } from '#infra/kafka/client.ts';

const MINUTE_MS = 60_000;

/** Clients of which each answers as the cluster does when it is opened. */
function clients() {
  const state = { behaviour: 'answers' as 'answers' | 'refuses' | 'hangs', opened: 0, closed: 0 };
  const open = async () => {
    state.opened++;
    return {
      describeCluster: () => {
        if (state.behaviour === 'hangs') return new Promise<never>(() => undefined);
        return state.behaviour === 'answers' ? Promise.resolve({} as never) : Promise.reject(new Error('away'));
      },
      disconnect: async () => {
        state.closed++;
      },
    };
  };
  return { state, open };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('one client is asked as long as it answers', async () => {
  const { state, open } = clients();
  const probe = watchCluster(open);
  await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
  expect({ alive: probe.isAlive(), opened: state.opened, closed: state.closed }).toEqual({
    alive: true,
    opened: 1,
    closed: 0,
  });
  probe.stop();
  await vi.advanceTimersByTimeAsync(0);
  expect(state.closed).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

test.for(['refuses', 'hangs'] as const)(
  'a client that %s is replaced, and the cluster found again',
  async (trouble) => {
    const { state, open } = clients();
    const probe = watchCluster(open);
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    state.behaviour = trouble;
    await vi.advanceTimersByTimeAsync(6_000);
    expect(probe.isAlive()).toBe(false);
    state.behaviour = 'answers';
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    expect(probe.isAlive()).toBe(true);
    expect(state.opened).toBeGreaterThan(1);
    expect(state.closed).toBe(state.opened - 1);
    probe.stop();
  },
);
