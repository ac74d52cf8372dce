import { describe, expect, it } from 'vitest';
import { readOptions } from '#services/local/demo/args.ts';

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
