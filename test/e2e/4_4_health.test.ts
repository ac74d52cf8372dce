import { expect, test } from 'vitest';
import { readAnswer } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';

const { edge } = sharedService().ready;

test('health needs no key and says where the limits are counted', async () => {
  const { status, headers, body } = await readAnswer(await fetch(`${edge}/v1/health`));
  expect(status).toBe(200);
  expect(body).toEqual({ ok: true, ratelimit: expect.stringMatching(/^(redis|memory)$/) });
  expect(headers.get('cache-control')).toBe('no-store');
});

test('an unknown route is answered with the error body', async () => {
  const answer = await readAnswer(await fetch(`${edge}/v2/ingest`, { method: 'POST' }));
  expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found', message: expect.any(String) } } });
});
