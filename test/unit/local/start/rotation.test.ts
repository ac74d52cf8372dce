import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { partsConfig } from '#infra/config/service_config.ts';
import { createRotation, watchRotations } from '#services/local/start/rotation.ts';
import { readState, requestPath, statePath } from '#services/stage/local_rotation.ts';
import { NOWHERE } from '#test/harness/own_parts.ts';
import { until } from '#test/harness/until.ts';

let dataDir: string;
let said: string[];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'rotation-'));
  said = [];
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** All parts are elsewhere: what is asked for is taken, and refused. */
function watch(): void {
  const { kafkaBrokers, registryUrl, redisUrl, clickhouseUrl } = NOWHERE;
  const { kafka } = partsConfig({
    ...{
      KAFKA_BROKERS: kafkaBrokers,
      SCHEMA_REGISTRY_URL: registryUrl,
      REDIS_URL: redisUrl,
      CLICKHOUSE_URL: clickhouseUrl,
    },
  });
  const parts = { addresses: NOWHERE, parts: {}, stop: async () => undefined } as never;
  watchRotations({ dataDir, parts, kafka, renewProcesses: async () => undefined, say: (line) => void said.push(line) });
}
const ask = (id: string): void => writeFileSync(requestPath(dataDir), JSON.stringify({ id, part: 'redis' }));

test('what was asked for before the start is not done; what is asked for then is taken once', async () => {
  ask('before');
  watch();
  expect(existsSync(requestPath(dataDir))).toBe(false);
  ask('now');
  await until('it is refused', () => readState(dataDir)?.state === 'failed');
  expect(readState(dataDir)).toMatchObject({
    id: 'now',
    isHalf: false,
    says: expect.stringContaining('local_part_elsewhere'),
  });
  expect(existsSync(requestPath(dataDir))).toBe(false);
});

test.each([
  ['running', 'npm start ended meanwhile: run it again'],
  ['failed', 'local_process_not_ready: late'],
])('what an earlier start left %s is not half done any more', (state, says) => {
  writeFileSync(
    statePath(dataDir),
    JSON.stringify({ id: 'a', part: 'redis', state, says: 'local_process_not_ready: late', isHalf: true }),
  );
  watch();
  expect(readState(dataDir)).toEqual({ id: 'a', part: 'redis', state: 'failed', says, isHalf: false });
});

test('a broken state is named and taken away', () => {
  writeFileSync(statePath(dataDir), '{"id":1');
  watch();
  expect(said).toEqual([expect.stringContaining(statePath(dataDir))]);
  expect(existsSync(statePath(dataDir))).toBe(false);
});

/** Ports that note what is done; the processes are renewed when `renewed` says so. */
function rotation() {
  const done: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  let drawn = 0;
  const rotate = createRotation(
    {
      async adopt(part) {
        drawn++;
        done.push(`adopt ${part}`);
        return { svc: `password ${drawn}` };
      },
      renewProcesses() {
        done.push('renew');
        return promise;
      },
      end: async (part, { svc }) => void done.push(`end ${part} but ${svc}`),
    },
    20,
  );
  return { done, renewed: resolve, rotate: () => rotate('kafka', () => undefined) };
}

test('what could not be ended goes on with the passwords that were adopted, and waits for the renewal that runs', async () => {
  const { done, renewed, rotate } = rotation();
  await expect(rotate()).rejects.toMatchObject({ code: 'local_process_not_ready' });
  const again = rotate();
  await new Promise(setImmediate);
  renewed();
  await again;
  expect(done).toEqual(['adopt kafka', 'renew', 'end kafka but password 1']);
  await rotate();
  expect(done.slice(3)).toEqual(['adopt kafka', 'renew', 'end kafka but password 2']);
});
