import { closeSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lastTrouble, openLog, reopenLog } from '#services/local/parts/part.ts';

function logPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'part.log');
}

test('the log of a part that is started again keeps what ended it', () => {
  const path = logPath();
  closeSync(openLog(path));
  writeFileSync(path, 'java.io.IOException: No space left on device\n', { flag: 'a' });
  for (let tries = 0; tries < 5; tries++) closeSync(reopenLog(path));
  expect(readFileSync(path, 'utf8')).toBe('');
  expect(readFileSync(`${path}.1`, 'utf8')).toContain('No space left');
  closeSync(openLog(path));
  expect(readFileSync(`${path}.1`, 'utf8')).toBe('');
});

test.each([
  [
    '[2026] ERROR Disk error (kafka.log)\njava.io.IOException: No space left on device\n\tat kafka.Log\n',
    'java.io.IOException: No space left on device',
  ],
  [
    'Caused by: java.io.IOException: No space left on device\n[2026] ERROR Encountered fatal fault\n',
    'Caused by: java.io.IOException: No space left on device',
  ],
  ['INFO all is well\n[2026] FATAL cannot start\n\tat x\n', '[2026] FATAL cannot start'],
  ['INFO all is well\n', null],
])('of %j the trouble is %j', (text, trouble) => {
  const path = logPath();
  writeFileSync(path, text);
  expect(lastTrouble(path)).toBe(trouble);
});
