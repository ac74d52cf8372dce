import { describe, expect, it } from 'vitest';
import { judge, type Reply, retryDelayMs } from '#services/local/demo/send_requests.ts';
import type { DemoRequest, Expectation } from '#services/local/demo/world/demo_event.ts';

function answered(status: number, body: unknown = {}, retryAfterS: number | null = null): Reply {
  return { kind: 'answered', status, retryAfterS, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

function requestFor(expected: Expectation): DemoRequest {
  return {
    siteSlot: 'shop',
    caller: 'browser',
    keyIn: 'header',
    headers: {},
    body: '{}',
    eventCount: 5,
    expect: expected,
  };
}

describe('retryDelayMs', () => {
  it.each([200, 400, 401, 403, 413, 500])('takes %i as final', (status) => {
    expect(retryDelayMs(answered(status), 1, 0.5)).toBeNull();
  });

  it.each([429, 502, 503, 504])('waits as long as %i asks, and a little more', (status) => {
    expect(retryDelayMs(answered(status, {}, 4), 1, 0)).toBe(4000);
    expect(retryDelayMs(answered(status, {}, 4), 1, 0.999)).toBeLessThan(4251);
    expect(retryDelayMs(answered(status, {}, 999_999), 1, 0)).toBe(60_000);
  });

  it('doubles the wait up to two seconds where no time is named', () => {
    const lost: Reply = { kind: 'no_answer', reason: 'ECONNREFUSED' };
    expect([1, 2, 3, 4, 5, 6, 20].map((tries) => retryDelayMs(lost, tries, 1))).toEqual([
      100, 200, 400, 800, 1600, 2000, 2000,
    ]);
    expect(retryDelayMs(lost, 1, 0)).toBe(50);
  });
});

const GOOD: Expectation = { status: 200, accepted: 5, rejected: 0, dropped: 0 };

describe('judge', () => {
  it.each([
    { title: 'all accepted', due: GOOD, reply: answered(200, { accepted: 5 }), surprise: null },
    {
      title: 'some rejected, as planned',
      due: { ...GOOD, accepted: 3, rejected: 2 },
      reply: answered(200, { accepted: 3, rejected: [{ index: 0 }, { index: 4 }] }),
      surprise: null,
    },
    {
      title: 'all rejected, as planned',
      due: { status: 400, accepted: 0, rejected: 1, dropped: 0 },
      reply: answered(400, { error: { code: 'no_good_event', message: '' }, rejected: [{ index: 0 }] }),
      surprise: null,
    },
    {
      title: 'too few accepted',
      due: GOOD,
      reply: answered(200, { accepted: 4 }),
      surprise: 'accepted 4 instead of 5',
    },
    {
      title: 'an event rejected beside those accepted',
      due: GOOD,
      reply: answered(200, { accepted: 5, rejected: [{}] }),
      surprise: 'rejected 1 instead of 0',
    },
    {
      title: 'dropped over quota',
      due: GOOD,
      reply: answered(200, { accepted: 5, dropped: 2 }),
      surprise: 'dropped 2 instead of 0',
    },
    {
      title: 'refused',
      due: GOOD,
      reply: answered(403, { error: { code: 'key_invalid', message: '' } }),
      surprise: '403 key_invalid instead of 200',
    },
    {
      title: 'a page of a proxy',
      due: GOOD,
      reply: answered(200, '<html>'),
      surprise: '200 with a body that is not the documented one',
    },
    {
      title: 'no answer',
      due: GOOD,
      reply: { kind: 'no_answer', reason: 'ECONNRESET' } as const,
      surprise: 'no answer (ECONNRESET)',
    },
  ])('$title', ({ due, reply, surprise }) => {
    const outcome = judge(requestFor(due), reply, 2);
    expect(outcome.surprise).toBe(surprise);
    expect(outcome).toMatchObject({ tries: 2, eventCount: 5 });
  });
});
