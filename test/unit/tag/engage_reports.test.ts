import { hash } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openReports, type Report } from '#services/tag/src/engage/engage_reports.ts';

type Answered = { status: number; body?: object; retryAfter?: string } | 'nothing';

let waiting: Report[];
let sent: Report[];
const kept = {
  waiting: () => waiting,
  keepWaiting(reports: Report[]) {
    waiting = reports;
  },
};
/** Answers one request after the other, the last one for ever. */
function edge(...answers: Answered[]): (path: string, body: string) => Promise<Response> {
  return async (path, body) => {
    sent.push([path, body]);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer === undefined || answer === 'nothing') throw new TypeError('Failed to fetch');
    const headers = answer.retryAfter === undefined ? {} : { 'retry-after': answer.retryAfter };
    return new Response(JSON.stringify(answer.body ?? {}), { status: answer.status, headers });
  };
}
beforeEach(() => {
  vi.useFakeTimers();
  waiting = [];
  sent = [];
});
afterEach(() => vi.useRealTimers());

test('what was taken waits no more', async () => {
  const reports = openReports(kept, edge({ status: 200, body: { accepted: 1 } }));
  const reply = reports.send('form', { form_id: 'f' });
  expect(waiting).toEqual([['form', '{"form_id":"f"}']]);
  expect(await reply).toEqual({ status: 200, body: { accepted: 1 } });
  expect(waiting).toEqual([]);
});

test.for(['nothing', { status: 503 }, { status: 429, retryAfter: '1' }] satisfies Answered[])(
  'after %j the same is sent again',
  async (first) => {
    const reports = openReports(kept, edge(first, { status: 200 }));
    expect(await reports.send('form', { form_id: 'f' })).toBeUndefined();
    await vi.advanceTimersByTimeAsync(2_500);
    expect(sent).toEqual([
      ['form', '{"form_id":"f"}'],
      ['form', '{"form_id":"f"}'],
    ]);
    expect(waiting).toEqual([]);
  },
);

test('what is refused is not sent again', async () => {
  const reports = openReports(kept, edge({ status: 400 }));
  expect(await reports.send('form', {})).toEqual({ status: 400, body: {} });
  await vi.advanceTimersByTimeAsync(600_000);
  expect([sent.length, waiting.length]).toEqual([1, 0]);
});

test('what an earlier page left is sent, each by itself', async () => {
  waiting = [
    ['form', '1'],
    ['promos/track', '2'],
  ];
  openReports(kept, edge({ status: 200 })).sendWaiting();
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toEqual([
    ['form', '1'],
    ['promos/track', '2'],
  ]);
  expect(waiting).toEqual([]);
});

test('where a proof is asked for, the form is sent again with the number that was found, once', async () => {
  vi.useRealTimers();
  const challenge = { salt: 's', challenge: hash('sha256', 's1234'), maxnumber: 2_000, signature: 'signed' };
  const asked: Answered = { status: 200, body: { accepted: 0, challenge } };
  const reports = openReports(kept, edge(asked));
  await reports.send('form', { form_id: 'f' });
  expect(sent.map(([, body]) => JSON.parse(body) as object)).toEqual([
    { form_id: 'f' },
    { form_id: 'f', challenge: { salt: 's', challenge: challenge.challenge, signature: 'signed', number: 1234 } },
  ]);
  expect(waiting).toEqual([]);
});
