import { describe, expect, it, test } from 'vitest';
import { readOptions, readReady } from '#services/local/demo/config.ts';

describe('readOptions', () => {
  it('names the run by the clock, in letters and digits', () => {
    expect(readOptions([], 46_655).run).toBe('zzz');
    expect(readOptions(['--run', 'again'], 1).run).toBe('again');
  });

  it('reads numbers with their units', () => {
    expect(readOptions(['--visitors', '20', '--seed', '7', '--timeout', '5', '--concurrency', '3'], 0)).toMatchObject({
      visitors: 20,
      seed: 7,
      timeoutMs: 5000,
      concurrency: 3,
    });
  });

  it.each([
    ['--visitors', '1'],
    ['--visitors', 'many'],
    ['--seed', '-1'],
    ['--seed', '1.5'],
    ['--timeout', '0'],
    ['--unknown', '1'],
    ['stray'],
  ])('refuses %s %s', (...argv) => {
    expect(() => readOptions(argv, 0)).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});

test('readReady says to start the service where its file is not there', () => {
  const failure = { code: 'not_started', message: expect.stringContaining('npm start') };
  expect(() => readReady('no-such-folder/ready.json')).toThrow(expect.objectContaining(failure));
});
