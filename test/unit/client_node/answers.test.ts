import { expect, test } from 'vitest';
import { type HttpAnswer, judgeAnswer, retryAfterMs, waitMs } from '#clients/node/src/post.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 10);
const SENT = 3;

function answer(status: number, body: unknown, headers: Record<string, string> = {}): HttpAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, text, header: (name) => headers[name] ?? null };
}

const judge = (...given: Parameters<typeof answer>) => judgeAnswer(answer(...given), SENT, NOW_MS);
const error = (code: string) => ({ error: { code, message: 'Why.' } });
const PORTAL = '<html>Welcome to our hotel</html>';

test('what the service says of each event', () => {
  const counts = { rejected: [], overQuota: 0, filtered: 0 };
  const rejection = { index: 1, code: 'timestamp_too_old', message: 'Why.' };
  expect(judge(200, { accepted: 3 })).toEqual({ kind: 'answered', ...counts });
  expect(judge(200, { accepted: 0 })).toEqual({ kind: 'answered', ...counts, filtered: 3 });
  expect(judge(200, { accepted: 1, dropped: 2 })).toEqual({ kind: 'answered', ...counts, overQuota: 2 });
  expect(judge(200, { accepted: 2, rejected: [rejection] })).toEqual({
    kind: 'answered',
    ...counts,
    rejected: [rejection],
  });
  const all = [0, 1, 2].map((index) => ({ ...rejection, index }));
  expect(judge(400, { ...error('events_rejected'), rejected: all })).toEqual({
    kind: 'answered',
    ...counts,
    rejected: all,
  });
});

test.for([
  PORTAL,
  '',
  '[]',
  '{}',
  { accepted: '3' },
  { accepted: 4 },
  { accepted: -1 },
  { accepted: 1.5 },
  { accepted: 3, dropped: 1 },
  { accepted: 2, rejected: {} },
  { accepted: 2, rejected: [{ index: 3, code: 'c' }] },
  {
    accepted: 1,
    rejected: [
      { index: 1, code: 'c' },
      { index: 1, code: 'c' },
    ],
  },
  { accepted: 2, rejected: [{ index: 1 }] },
  { accepted: 2, rejected: [null] },
])('a 200 with %j is not the service', (body) => {
  expect(judge(200, body)).toMatchObject({ kind: 'retry', code: 'answer_foreign' });
});

test('an answer too long to be one is not the service', () => {
  expect(judgeAnswer({ ...answer(200, ''), text: null }, SENT, NOW_MS)).toMatchObject({ code: 'answer_foreign' });
});

test.for([
  [204, '', 'answer_foreign'],
  [302, '', 'answer_foreign'],
  [0, '', 'answer_foreign'],
  [403, PORTAL, 'answer_foreign'],
  [404, PORTAL, 'answer_foreign'],
  [407, PORTAL, 'answer_foreign'],
  [400, error('events_rejected'), 'answer_foreign'],
  [408, PORTAL, 'unavailable'],
  [425, PORTAL, 'unavailable'],
  [429, PORTAL, 'rate_limited'],
  [429, error('rate_limited'), 'rate_limited'],
  [500, error('internal'), 'unavailable'],
  [502, PORTAL, 'unavailable'],
  [503, error('overloaded'), 'unavailable'],
  [511, PORTAL, 'unavailable'],
] as const)('%s %j is tried again', ([status, body, code]) => {
  expect(judge(status, body)).toMatchObject({ kind: 'retry', code });
});

test.for([
  [400, error('body_not_json'), { kind: 'refused', code: 'request_refused', detail: 'body_not_json' }],
  [
    415,
    error('content_type_unsupported'),
    { kind: 'refused', code: 'request_refused', detail: 'content_type_unsupported' },
  ],
  [401, error('key_missing'), { kind: 'refused', code: 'key_refused', detail: 'key_missing' }],
  [403, error('key_revoked'), { kind: 'refused', code: 'key_refused', detail: 'key_revoked' }],
  [404, error('not_found'), { kind: 'refused', code: 'key_refused', detail: 'not_found' }],
  [400, error('body_too_complex'), { kind: 'split', code: 'request_refused', detail: 'body_too_complex' }],
  [413, error('body_too_large'), { kind: 'split', code: 'too_large', detail: 'body_too_large' }],
  [413, PORTAL, { kind: 'split', code: 'too_large', detail: null }],
] as const)('%s %j is not tried again as it is', ([status, body, verdict]) => {
  expect(judge(status, body)).toEqual(verdict);
});

test.for([
  ['7', 7_000],
  ['0', 0],
  [' 120 ', 120_000],
  ['Fri, 20 Nov 2026 10:01:30 GMT', 90_000],
  ['Fri, 20 Nov 2026 09:00:00 GMT', 0],
  ['soon', null],
  ['-5', null],
  ['1.5', null],
  ['', null],
] as const)('Retry-After: %s asks for %s ms', ([said, ms]) => {
  expect(retryAfterMs(answer(503, '', { 'retry-after': said }), NOW_MS)).toBe(ms);
});

test('a date in Retry-After is compared with the date of the answer, not with a clock that is off', () => {
  const headers = { 'retry-after': 'Fri, 20 Nov 2026 10:01:30 GMT', date: 'Fri, 20 Nov 2026 10:01:00 GMT' };
  expect(retryAfterMs(answer(503, '', headers), NOW_MS + 3_600_000)).toBe(30_000);
});

test('waits double with full jitter, and keep to what the service asks for within bounds', () => {
  const options = { baseMs: 500, maxMs: 60_000, retryAfterMaxMs: 600_000 };
  expect([1, 2, 3, 8, 9, 1_000].map((attempt) => waitMs(attempt, null, 1, options))).toEqual([
    500, 1_000, 2_000, 60_000, 60_000, 60_000,
  ]);
  expect(waitMs(5, null, 0, options)).toBe(0);
  expect(waitMs(1, 7_000, 0, options)).toBe(7_000);
  expect(waitMs(9, 7_000, 1, options)).toBe(7_500);
  expect(waitMs(1, 86_400_000, 0, options)).toBe(600_000);
});
