import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { standin as meta } from '#services/local/platforms/meta.ts';
import { type Standin, startPlatform } from '#services/local/platforms/standin.ts';

let standin: Standin;
beforeEach(async () => {
  standin = await startPlatform(meta);
});
afterEach(() => standin.stop());

const script = (body: string): Promise<Response> => fetch(`${standin.url}/_standin/script`, { method: 'POST', body });
const send = (pixel: string, token = 't'): Promise<Response> =>
  fetch(`${standin.url}/v25.0/${pixel}/events`, {
    method: 'POST',
    body: JSON.stringify({ data: [], access_token: token }),
  });

describe('the routes that direct a stand-in', () => {
  it('say what it holds', async () => {
    expect(await (await fetch(`${standin.url}/_standin/ledger`)).json()).toEqual({
      events: [],
      next_cursor: null,
      first: 0,
      repeated: 0,
      effects: 0,
    });
    expect((await fetch(`${standin.url}/_standin/nothing`)).status).toBe(404);
  });

  it('take a script for one scope, and count it down', async () => {
    const rules = [{ fault: { kind: 'status', status: 503 }, times: 2, scope: '111' }];
    expect((await script(JSON.stringify({ rules }))).status).toBe(200);
    expect((await send('222')).status).toBe(400);
    expect((await send('111')).status).toBe(503);
    expect((await send('111')).status).toBe(503);
    expect((await send('111')).status).toBe(400);
  });

  it('take a script for one token, until it is replaced', async () => {
    await script(JSON.stringify({ rules: [{ fault: { kind: 'throttle', retry_after_s: 9 }, token: 'bad' }] }));
    const refused = await send('111', 'bad');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '9']);
    expect((await send('111', 'good')).status).toBe(400);
    await script('{"rules":[]}');
    expect((await send('111', 'bad')).status).toBe(400);
  });

  it.each([
    '',
    '{',
    '[]',
    '{"rules":[{"fault":{"kind":"unknown"}}]}',
    '{"rules":[{"times":0,"fault":{"kind":"html"}}]}',
  ])('refuse %j as a script', async (body) => expect((await script(body)).status).toBe(400));
});
