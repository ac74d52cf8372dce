import { expect, test } from 'vitest';
import { type EdgeAnswer, readAnswer, type SendError, sendEvents } from '#services/cli/import/edge_client.ts';
import { checkAll } from '#test/harness/check_all.ts';

const answer = (status: number, body: unknown, retryAfter: string | null = null): EdgeAnswer => ({
  status,
  retryAfter,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const failure = (code: string) => ({ error: { code, message: '' } });

test('an answer means one of three things', () =>
  checkAll<[EdgeAnswer | null, object]>(
    [
      [answer(200, { accepted: 3 }), { kind: 'sent', sent: { accepted: 3, dropped: 0, rejected: [] } }],
      [answer(200, { accepted: 1, dropped: 2 }), { kind: 'sent', sent: { accepted: 1, dropped: 2 } }],
      [
        answer(400, { ...failure('events_rejected'), rejected: [{ index: 0, code: 'x', message: 'y' }] }),
        { kind: 'sent', sent: { accepted: 0, rejected: [{ index: 0, code: 'x', message: 'y' }] } },
      ],
      [null, { kind: 'again', afterMs: null, code: 'edge_unavailable' }],
      [answer(429, failure('rate_limited'), '7'), { kind: 'again', afterMs: 7_000, code: 'rate_limited' }],
      [answer(503, failure('overloaded')), { kind: 'again', afterMs: null, code: 'overloaded' }],
      [answer(502, '<html>'), { kind: 'again', code: 'status_502' }],
      [answer(403, failure('key_revoked')), { kind: 'refused', code: 'key_revoked' }],
      // Of a captive portal, a proxy, or to another request.
      ...[
        answer(200, '<html>sign in</html>'),
        answer(302, ''),
        answer(403, '<html>blocked</html>'),
        answer(200, { accepted: 4 }),
        answer(200, { accepted: 3, dropped: 1 }),
        answer(200, { accepted: 2, rejected: [{ index: 3, code: 'x', message: 'y' }] }),
        answer(200, { accepted: -1 }),
        answer(400, { ...failure('events_rejected'), rejected: [{ index: 7, code: 'x', message: 'y' }] }),
      ].map((foreign): [EdgeAnswer, object] => [foreign, { kind: 'again', afterMs: null, code: 'answer_foreign' }]),
    ],
    ([given, verdict]) => expect(readAnswer(given, 3)).toMatchObject(verdict),
  ));

/** What is waited for, and how sending ends, where the edge gives these answers one after the other. */
async function sendTo(answers: readonly (EdgeAnswer | null)[], attemptsMax = 4) {
  const waits: number[] = [];
  const bodies: string[] = [];
  const sleep = async (ms: number): Promise<void> => void waits.push(ms);
  const post = async (body: string) => answers[bodies.push(body) - 1] ?? null;
  const event = { event: 'purchase', uuid: 'a', timestamp: '2026-11-27T08:00:00.000Z', properties: {} };
  const ports = { post, sleep, onWait: () => undefined, attemptsMax };
  const ended = await sendEvents([event], ports).catch(({ code }: SendError) => code);
  return { waits, ended, isSame: new Set(bodies).size === 1 };
}

test('the same is sent again, when the edge says or ever later, and not for ever', async () => {
  const taken = answer(200, { accepted: 1 });
  const limited = answer(429, failure('rate_limited'), '2');
  const away = answer(503, failure('overloaded'));
  expect(await sendTo([null, away, taken])).toMatchObject({
    waits: [1_000, 2_000],
    ended: { accepted: 1 },
    isSame: true,
  });
  // To be limited is no failure: a large file is, all the time.
  expect(await sendTo([...Array<EdgeAnswer>(9).fill(limited), taken])).toMatchObject({ ended: { accepted: 1 } });
  expect(await sendTo([null, null, null, null, null])).toMatchObject({
    ended: 'edge_unavailable',
    waits: [1_000, 2_000, 4_000],
  });
  expect(await sendTo([answer(401, failure('key_missing'))])).toMatchObject({ ended: 'key_missing', waits: [] });
});
