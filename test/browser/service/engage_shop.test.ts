import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { until } from '#test/harness/until.ts';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';

const { pages } = sharedService().ready.demo;
const { clickhouse } = sharedService().ready;

let browser: TestBrowser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

test('with scripts off the plain HTML form is a lead as well', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${pages}/quote`);
  const email = `plain.${Date.now()}@mail.example`;
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('You may write to me').check();
  await page.getByRole('button', { name: 'Ask for a quote' }).click();
  await page.getByText('we would write back').waitFor();
  const leads = (): Promise<object[]> =>
    select(
      clickhouse,
      "SELECT event_id FROM event_rows WHERE site_id = 'shop' AND event = 'generate_lead' AND email_sha256 = {email:String}",
      { email: hash('sha256', email) },
    );
  expect(await until('the lead', leads, ({ length }) => length > 0, { timeoutMs: 60_000 })).toHaveLength(1);
  await context.close();
});
