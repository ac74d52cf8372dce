import { expect, test } from 'vitest';
import { Client } from '#clients/node/src/client.ts';
import { startBadLine } from '#test/clients/bad_line.ts';
import { testSeed } from '#test/harness/environment.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds, untilStored } from '#test/harness/stored_rows.ts';
import { makeSite } from '#test/harness/test_site.ts';

test('what the client library tracks is stored once, on a line where a third of the requests go wrong', async () => {
  const service = sharedService();
  const site = await makeSite(service);
  const line = await startBadLine(service.ready.edge, testSeed());
  const problems: string[] = [];
  const client = new Client({
    url: line.url,
    key: site.serverKey,
    flushAt: 10,
    retryBaseMs: 5,
    retryMaxMs: 20,
    requestTimeoutMs: 2_000,
    onError: ({ code, willRetry }) => problems.push(`${code} ${willRetry}`),
  });
  const tracked = Array.from({ length: 200 }, (_, at) =>
    client.trackOffline({ event: 'purchase', actionSource: 'phone_call', distinctId: `caller-${at % 10}` }),
  );
  expect(await client.shutdown({ deadlineMs: 60_000 })).toEqual({ ok: true, pending: 0 });
  const ids = tracked.flatMap((one) => (one.ok ? [one.uuid] : []));
  await untilStored(service, site.site, 200);
  expect((await storedIds(service, site.site)).sort()).toEqual(ids.sort());
  expect(problems.length).toBeGreaterThan(0);
  expect(problems.filter((problem) => problem.endsWith('false'))).toEqual([]);
  await line.close();
  await site.close();
});
