import { describe, expect, it } from 'vitest';
import { healthOf, retryAfterMs } from '#pipelines/delivery/platform_http.ts';

describe('Retry-After', () => {
  const date = 'Tue, 10 Mar 2026 12:00:00 GMT';
  it.each([
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['none to wait', { 'retry-after': '0' }, 0],
    ['a date', { 'retry-after': 'Tue, 10 Mar 2026 12:01:30 GMT', date }, 90_000],
    ['a date that has passed', { 'retry-after': 'Tue, 10 Mar 2026 11:00:00 GMT', date }, 0],
    ['a date without the Date it refers to', { 'retry-after': 'Tue, 10 Mar 2026 12:01:30 GMT' }, null],
    ['nonsense', { 'retry-after': 'soon', date }, null],
    ['a negative number', { 'retry-after': '-5' }, null],
    ['nothing', {}, null],
  ] as [string, Record<string, string>, number | null][])('in the form of %s', (_, headers, expected) =>
    expect(retryAfterMs(headers)).toBe(expected),
  );
});

describe('the health that verdicts on single events show', () => {
  const delivered = { kind: 'delivered' } as const;
  const retry = { kind: 'retry', reason: 'r', detail: '' } as const;
  const dead = { kind: 'dead', reason: 'd', detail: '' } as const;
  const broken = { kind: 'credentials_broken', reason: 'b', detail: '' } as const;
  it.each([
    ['all well', [delivered, dead], 'well'],
    ['one to be repeated among good ones', [retry, delivered], 'well'],
    ['all to be repeated', [retry, retry], 'failing'],
    ['broken credentials anywhere', [delivered, broken], 'credentials_broken'],
    ['none', [], 'well'],
  ] as const)('%s', (_, verdicts, kind) =>
    expect(healthOf({ kind: 'per_event', verdicts: [...verdicts] }).kind).toBe(kind),
  );
});
