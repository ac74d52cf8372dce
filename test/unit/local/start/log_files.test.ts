import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { rotateLogs } from '#services/local/start/supervisor.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'logs-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

test('a log that is too large goes on empty, and its lines stand in the file beside it', () => {
  const log = openSync(join(folder, 'dedup.log'), 'a');
  writeFileSync(join(folder, 'edge.log'), '12345');
  writeFileSync(join(folder, 'dedup.log.1'), 'what was there before');
  writeSync(log, 'first\n');
  rotateLogs(folder, 5);
  writeSync(log, 'second\n');
  closeSync(log);
  expect([read('dedup.log.1'), read('dedup.log'), read('edge.log')]).toEqual(['first\n', 'second\n', '12345']);
});
