import { expect, test } from 'vitest';
import { readAnswer } from '#test/harness/ingest.ts';
import { CHROME } from '#test/unit/intake/context.ts';
import { startEdge } from './edge.ts';

const headers = { 'user-agent': CHROME };

test('a hit in an address alone needs room as well', async () => {
  const edge = await startEdge({ limiter: { requestsMax: 0 } });
  const answer = await readAnswer(await fetch(`${edge.url}/g/collect?tid=G-1&en=a`, { headers }));
  expect(answer).toMatchObject({ status: 503, body: { error: { code: 'overloaded' } } });
  await edge.close();
});

test('who keeps sending what is nobody’s is looked at no more', async () => {
  const edge = await startEdge({ strangersMax: 2 });
  const ask = async () => (await fetch(`${edge.url}/g/collect?tid=G-NOBODY&en=a`, { headers })).status;
  expect([await ask(), await ask(), await ask(), await ask()]).toEqual([403, 403, 403, 429]);
  await edge.close();
});

test('nothing of a body is held once its hit is answered', async () => {
  const edge = await startEdge();
  const sent = { method: 'POST', headers, body: 'en=a&cid=1' };
  await fetch(`${edge.url}/g/collect?key=${edge.browserKey}`, sent);
  expect([edge.limiter.requests, edge.limiter.bytes]).toEqual([0, 0]);
  await edge.close();
});
