import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { acquireLock } from '#services/local/parts/tools.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

test('a second taker is refused, until the first releases the lock', async () => {
  const release = await acquireLock(folder);
  expect(await acquireLock(folder)).toBeNull();
  release?.();
  await expect.poll(() => acquireLock(folder)).not.toBeNull();
});

test('each folder has a lock of its own, whatever the path it is reached by', async () => {
  expect(await acquireLock(folder)).not.toBeNull();
  expect(await acquireLock(join(folder, 'other'))).not.toBeNull();
  expect(await acquireLock(join(folder, 'other', '..'))).toBeNull();
});
