import { afterEach, expect, test } from 'vitest';
import { probeWarehouse, type WarehouseProbe } from '#infra/clickhouse/client.ts';
import { until } from '#test/harness/until.ts';

let probe: WarehouseProbe | undefined;
afterEach(() => probe?.stop());

/** A server whose pings succeed until it is told to stop answering. */
function server() {
  const state = { answers: true };
  const warehouse = {
    ping: async () =>
      state.answers ? { success: true as const } : { success: false as const, error: new Error('late') },
  };
  return { state, warehouse };
}

const untilAlive = (wanted: boolean) =>
  until(
    'the probe knows',
    () => probe?.isAlive(),
    (alive) => alive === wanted,
  );

test('a question that is waited for ends when the server stops answering, and none is asked then', async () => {
  const { state, warehouse } = server();
  probe = probeWarehouse(warehouse, { intervalMs: 5, answerMsMax: 50 });
  expect(await probe.guard(async () => 'rows')).toBe('rows');
  const hanging = probe.guard(() => new Promise(() => undefined));
  state.answers = false;
  await expect(hanging).rejects.toMatchObject({ code: 'warehouse_unavailable', recovery: 'again' });
  let asked = false;
  await expect(
    probe.guard(async () => {
      asked = true;
    }),
  ).rejects.toMatchObject({ code: 'warehouse_unavailable' });
  expect(asked).toBe(false);
  state.answers = true;
  await untilAlive(true);
  expect(await probe.guard(async () => 'rows')).toBe('rows');
});

test('a failure of the question itself is passed on', async () => {
  probe = probeWarehouse(server().warehouse, { intervalMs: 5, answerMsMax: 50 });
  await expect(probe.guard(() => Promise.reject(new Error('its own')))).rejects.toThrow('its own');
});
