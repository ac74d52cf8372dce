import { expect, it } from 'vitest';
import { expectDone, installation } from './harness.ts';

const READY = JSON.stringify({ clickhouse: 'http://svc:service-password@127.0.0.1:8123/svc' });
const CREDENTIALS = JSON.stringify({ svc: 'service-password', analyst_shop: 'analyst-password' });

it('shows how the analyst signs in, and nobody else’s password', async () => {
  const shop = await installation();
  shop.files.set('.local/ready.json', READY);
  shop.files.set('.local/clickhouse/credentials.json', CREDENTIALS);
  const text = await expectDone(shop.svc('analyst show'));
  expect(text).toContain(
    "curl -sS 'http://127.0.0.1:8123/?database=analyst_shop' --user 'analyst_shop:analyst-password' -d 'SELECT count() FROM events'",
  );
  expect(text).not.toContain('service-password');
  expect(JSON.parse(await expectDone(shop.svc('analyst --json')))).toEqual({
    url: 'http://127.0.0.1:8123',
    database: 'analyst_shop',
    user: 'analyst_shop',
    password: 'analyst-password',
    site: 'shop',
  });
});

it.each([
  { ready: null, code: 'not_running' },
  { ready: READY, code: 'analyst_unknown' },
])('without what it needs: $code', async ({ ready, code }) => {
  const shop = await installation();
  if (ready !== null) shop.files.set('.local/ready.json', ready);
  expect(await shop.svc('analyst show')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(`svc: ${code}: `),
  });
});
