import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { acquireLock } from '#services/local/parts/folder_lock.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

test('a second taker is refused and told who holds the lock', () => {
  expect(acquireLock(folder).ok).toBe(true);
  expect(acquireLock(folder)).toEqual({ ok: false, pid: process.pid });
});

test('a released lock can be taken again', () => {
  const lock = acquireLock(folder);
  if (lock.ok) lock.release();
  expect(acquireLock(folder).ok).toBe(true);
});

test('a lock whose process is gone is taken over', () => {
  writeFileSync(join(folder, 'lock'), '4194399 12345\n');
  expect(acquireLock(folder).ok).toBe(true);
});

test('a lock whose pid now names another process is taken over', () => {
  writeFileSync(join(folder, 'lock'), `${process.pid} 1\n`);
  expect(acquireLock(folder).ok).toBe(true);
});

test('a damaged lock is taken over', () => {
  writeFileSync(join(folder, 'lock'), '');
  expect(acquireLock(folder).ok).toBe(true);
});
