import { hash } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openReports, type Reply, type Report, type Reports } from '#services/tag/src/engage/reports.ts';

type Answered = { status: number; body?: object | string; retryAfter?: string } | 'nothing';

let waiting: Report[];
let sent: Report[];
const kept = {
  waiting: () => waiting,
  keepWaiting_(reports: Report[]) {
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
    const said = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? {});
    return new Response(said, { status: answer.status, headers });
  };
}
/** What is heard of a report first: undefined where it waits. */
const heard = (reports: Reports, path: string, body: object): Promise<Reply | undefined> =>
  new Promise((hear) => reports.send(path, body, hear));
beforeEach(() => {
  vi.useFakeTimers();
  waiting = [];
  sent = [];
});
afterEach(() => vi.useRealTimers());

test('what was taken waits no more', async () => {
  const reports = openReports(kept, edge({ status: 200, body: { accepted: 1 } }));
  const reply = heard(reports, 'form', { form_id: 'f' });
  expect(waiting).toEqual([['form', '{"form_id":"f"}', undefined]]);
  expect(await reply).toEqual({ status: 200, body: { accepted: 1 } });
  expect(waiting).toEqual([]);
});

test.for([
  'nothing',
  { status: 503 },
  { status: 429, retryAfter: '1' },
  { status: 200, body: '<p>Sign in</p>' },
] satisfies Answered[])('after %j the same is sent again', async (first) => {
  const reports = openReports(kept, edge(first, { status: 200 }));
  const replies: unknown[] = [];
  reports.send('form', { form_id: 'f' }, (reply) => replies.push(reply));
  await vi.advanceTimersByTimeAsync(2_500);
  expect(replies).toEqual([undefined, { status: 200, body: {} }]);
  expect(sent).toEqual([
    ['form', '{"form_id":"f"}'],
    ['form', '{"form_id":"f"}'],
  ]);
  expect(waiting).toEqual([]);
});

test('what is too early waits, and goes with a later page where this one is left', async () => {
  const reports = openReports(kept, edge({ status: 200 }));
  const reply = vi.fn();
  reports.send('form', { form_id: 'f' }, reply, 1_000);
  // Whatever becomes of the device's clock meanwhile.
  vi.setSystemTime(Date.now() - 3_600_000);
  await vi.advanceTimersByTimeAsync(900);
  // A later page, or a connection that is back, waits as well.
  reports.sendWaiting_();
  openReports(kept, edge({ status: 200 })).sendWaiting_();
  expect([sent.length, waiting.length, reply.mock.calls.length]).toEqual([0, 1, 0]);
  await vi.advanceTimersByTimeAsync(200);
  expect(sent.length).toBeGreaterThan(0);
  expect([waiting.length, reply.mock.calls.at(0)]).toEqual([0, [{ status: 200, body: {} }]]);
});

test('what is refused is not sent again', async () => {
  const reports = openReports(kept, edge({ status: 400 }));
  expect(await heard(reports, 'form', {})).toEqual({ status: 400, body: {} });
  await vi.advanceTimersByTimeAsync(600_000);
  expect([sent.length, waiting.length]).toEqual([1, 0]);
});

test('what an earlier page left is sent, each by itself', async () => {
  waiting = [
    ['form', '1'],
    ['promos/track', '2'],
  ];
  openReports(kept, edge({ status: 200 })).sendWaiting_();
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toEqual([
    ['form', '1'],
    ['promos/track', '2'],
  ]);
  expect(waiting).toEqual([]);
});

const challengeOf = (number: number): object => ({
  ...{ salt: 's', challenge: hash('sha256', `s${number}`), maxnumber: 2_000, signature: 'signed' },
});
const numbersSent = (): unknown[] =>
  sent.map(([, body]) => (JSON.parse(body) as { challenge?: { number: number } }).challenge?.number);

test('where a proof is asked for, the form is sent again with the number that was found', async () => {
  vi.useRealTimers();
  const challenge = challengeOf(1234);
  const taken = { status: 200, body: { accepted: 1 } };
  const reports = openReports(kept, edge({ status: 200, body: { accepted: 0, challenge } }, taken));
  expect(await heard(reports, 'form', { form_id: 'f' })).toEqual(taken);
  expect(sent.map(([, body]) => JSON.parse(body) as object)).toEqual([
    { form_id: 'f' },
    { form_id: 'f', challenge: { ...challenge, number: 1234 } },
  ]);
  expect(waiting).toEqual([]);
});

test('a proof that holds no more is found anew, three times at most', async () => {
  vi.useRealTimers();
  waiting = [['form', JSON.stringify({ form_id: 'f', challenge: { number: 7 } })]];
  const ask = (number: number): Answered => ({ status: 200, body: { accepted: 0, challenge: challengeOf(number) } });
  const reports = openReports(kept, edge(ask(1), { status: 200, body: { accepted: 1 } }));
  reports.sendWaiting_();
  await expect.poll(() => waiting).toEqual([]);
  expect(numbersSent()).toEqual([7, 1]);
  sent = [];
  const stubborn = openReports(kept, edge(ask(2), ask(3), ask(4), ask(5)));
  expect((await heard(stubborn, 'form', {}))?.body.challenge).toEqual(challengeOf(5));
  expect(numbersSent()).toEqual([undefined, 2, 3, 4]);
});

test('where no proof can be made, the answer says what was asked for', async () => {
  vi.useRealTimers();
  vi.stubGlobal('crypto', {});
  const reports = openReports(kept, edge({ status: 200, body: { accepted: 0, challenge: challengeOf(1) } }));
  expect((await heard(reports, 'form', {}))?.body.challenge).toEqual(challengeOf(1));
  vi.unstubAllGlobals();
  expect([sent.length, waiting.length]).toEqual([1, 0]);
});

test('a survey’s answer without a proof waits for a later page, and is not asked for at once', async () => {
  vi.stubGlobal('crypto', {});
  const asked = { status: 200, body: { accepted: 0, challenge: challengeOf(1) } };
  expect((await heard(openReports(kept, edge(asked)), 'surveys/respond', {}))?.body.challenge).toEqual(challengeOf(1));
  vi.unstubAllGlobals();
  await vi.advanceTimersByTimeAsync(600_000);
  expect([sent.length, waiting]).toEqual([1, [['surveys/respond', '{}', undefined]]]);
  openReports(kept, edge({ status: 200, body: { accepted: 1 } })).sendWaiting_();
  await vi.advanceTimersByTimeAsync(0);
  expect(waiting).toEqual([]);
});
