import { describe, expect, it } from 'vitest';
import type { Answer } from '#pipelines/delivery/contract.ts';
import { classify as classifyMeta } from '#pipelines/delivery/destinations/meta/classify.ts';
import { classify as classifyWebhook } from '#pipelines/delivery/destinations/webhook/classify.ts';
import { healthOf, retryAfterMs } from '#pipelines/delivery/verdicts.ts';
import { answered } from './harness.ts';

const graph = (code: number, subcode?: number, status = 400, transient = false): Answer =>
  answered(status, {
    error: {
      message: 'x',
      type: 'OAuthException',
      code,
      error_subcode: subcode,
      is_transient: transient,
      fbtrace_id: 'T1',
    },
  });

describe("Meta's answers", () => {
  it.each([
    ['success', answered(200, { events_received: 1, messages: [], fbtrace_id: 'T1' }), 'delivered'],
    ...[1, 2, 341, 368, 5000, 21009].map((code): [string, Answer, string] => [`code ${code}`, graph(code), 'retry']),
    ...[4, 17, 32, 613, 80003, 80004].map((code): [string, Answer, string] => [
      `code ${code}`,
      graph(code),
      'throttle',
    ]),
    ...[10, 102, 190, 200, 250, 299].map((code): [string, Answer, string] => [
      `code ${code}`,
      graph(code),
      'credentials_broken',
    ]),
    ['code 100/33', graph(100, 33), 'credentials_broken'],
    ...[2804001, 2804003, 2804007, 2804016, 2804017, 2804019, 2804048].map((subcode): [string, Answer, string] => [
      `code 100/${subcode}`,
      graph(100, subcode),
      'split',
    ]),
    ['code 100 alone', graph(100), 'split'],
    ['a transient error of any code', graph(100, 99, 400, true), 'retry'],
    ['code 1 with 500', graph(1, undefined, 500), 'retry'],
    ['any code with 503', graph(999, undefined, 503), 'retry'],
    ['any code with 429', graph(999, undefined, 429), 'throttle'],
    ['a page with 200', answered(200, '<!DOCTYPE html><html></html>', { 'content-type': 'text/html' }), 'retry'],
    ['a page with 400', answered(400, '<html></html>'), 'retry'],
    ['200 without a count', answered(200, '{}'), 'retry'],
    ['200 cut short', answered(200, '{"events_rec'), 'retry'],
    ['400 without an error', answered(400, ''), 'split'],
    ['401 without an error', answered(401, ''), 'credentials_broken'],
    ['404 without an error', answered(404, ''), 'credentials_broken'],
    ['413 without an error', answered(413, ''), 'split'],
    ['429 without an error', answered(429, ''), 'throttle'],
    ['502 without an error', answered(502, ''), 'retry'],
    ['a redirect', answered(302, ''), 'retry'],
    ['no answer in time', { kind: 'no_answer', reason: 'timeout' } satisfies Answer, 'retry'],
    ['no connection', { kind: 'no_answer', reason: 'connect' } satisfies Answer, 'retry'],
  ] satisfies [string, Answer, string][])('%s', (_, answer, kind) => expect(classifyMeta(answer).kind).toBe(kind));

  it('name code, subcode, status and trace, and nothing that the message repeats', () => {
    const verdict = classifyMeta(graph(100, 2804003));
    expect(verdict).toEqual({ kind: 'split', reason: 'meta_100_2804003', detail: 'status 400 fbtrace_id T1' });
  });
});

describe("a webhook receiver's answers", () => {
  it.each([
    [200, {}, 'delivered'],
    [201, {}, 'delivered'],
    [204, {}, 'delivered'],
    [301, {}, 'retry'],
    [307, {}, 'retry'],
    [400, {}, 'split'],
    [401, {}, 'retry'],
    [404, {}, 'retry'],
    [410, {}, 'credentials_broken'],
    [413, {}, 'split'],
    [422, {}, 'split'],
    [429, {}, 'throttle'],
    [500, {}, 'retry'],
    [503, {}, 'retry'],
    [503, { 'retry-after': '5' }, 'throttle'],
  ])('%i %j: %s', (status, headers, kind) => expect(classifyWebhook(answered(status, '', headers)).kind).toBe(kind));

  it('stop the site when the address leads inside', () => {
    expect(classifyWebhook({ kind: 'no_answer', reason: 'address_refused' })).toMatchObject({
      kind: 'credentials_broken',
      reason: 'address_refused',
    });
    expect(classifyWebhook({ kind: 'no_answer', reason: 'timeout' }).kind).toBe('retry');
  });
});

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
