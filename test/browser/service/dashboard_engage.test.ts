import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { axeViolations } from '../harness/axe.ts';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';
import { signedIn } from './harness/signed_in.ts';

const service = sharedService();
const TEST_MS = 60_000;

let site: TestSite;
let browser: TestBrowser;
beforeAll(async () => {
  site = await makeSite(service);
  browser = await openBrowser('whole');
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

/** What a page of the site would be shown, by its names. */
async function shownAt(url: string): Promise<string[]> {
  const body = JSON.stringify({ page: { url }, visitor: {} });
  const answer = await fetch(`${service.ready.edge}/v1/engage?key=${site.browserKey}`, { method: 'POST', body });
  // A site that shows nothing at all has no answer.
  if (answer.status === 204) return [];
  const { items } = (await answer.json()) as { items: { kind: string; id: string }[] };
  return items.map(({ kind, id }) => `${kind}:${id}`);
}

test('a survey, a promo and a form are made, previewed and started by clicks; the API has them, and visitors see them', {
  timeout: 2 * TEST_MS,
}, async () => {
  const page = await signedIn(service, browser, `/sites/${site.site}/engage`);
  const dialog = page.getByRole('dialog');
  const preview = dialog.getByRole('region', { name: 'Preview' });
  await page.getByRole('button', { name: 'New survey' }).click();
  await dialog.getByLabel('Name', { exact: true }).fill('After the order');
  await dialog.getByLabel('Heading (optional)', { exact: true }).fill('How was the shop?');
  await dialog.getByLabel('Scale').selectOption('1 to 5');
  await dialog.getByLabel('Display').selectOption('Stars');
  await preview.getByRole('heading', { name: 'How was the shop?' }).waitFor();
  await preview.getByText('★').nth(4).waitFor();
  await dialog.getByText('Targeting').click();
  await dialog.getByLabel('Show on pages').fill('/thanks*');
  expect(await axeViolations(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved After the order').waitFor();
  expect(await shownAt('https://shop.example/thanks')).toEqual([]);
  await page.getByRole('button', { name: 'After the order' }).click();
  await dialog.getByRole('tab', { name: 'Edit' }).click();
  await dialog.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('cell', { name: 'Active', exact: true }).waitFor();

  await page.getByRole('tab', { name: 'Banners' }).click();
  await page.getByRole('button', { name: 'New banner' }).click();
  await dialog.getByLabel('Heading', { exact: true }).fill('Winter sale');
  await preview.getByRole('heading', { name: 'Winter sale' }).waitFor();
  await dialog.getByRole('button', { name: 'Save and start' }).click();
  await page.getByRole('cell', { name: 'Active', exact: true }).waitFor();

  await page.getByRole('tab', { name: 'Forms' }).click();
  await page.getByRole('button', { name: 'New form' }).click();
  await dialog.getByRole('button', { name: 'Add a field' }).click();
  await dialog.getByRole('listitem', { name: 'Field 2' }).getByLabel('Label').fill('Your name');
  await preview.getByLabel('Your name').waitFor();
  await dialog.getByRole('button', { name: 'Save and start' }).click();
  await page.getByRole('cell', { name: 'Active', exact: true }).waitFor();

  const survey = await site.settings.run<object>('survey', 'show', 'after-the-order', '--site', site.site);
  expect(survey).toMatchObject({
    ...{ name: 'After the order', enabled: true, title: 'How was the shop?', targeting: { url_pattern: ['/thanks*'] } },
    questions: [{ id: 'nps', type: 'rating', scale: 5, display: 'star' }],
  });
  const all = ['form:quote', 'promo:sale', 'survey:after-the-order'];
  const asked = async (): Promise<string[]> => (await shownAt('https://shop.example/thanks')).sort();
  await until('the edge to show all three', asked, (names) => names.join() === all.join(), { timeoutMs: TEST_MS });
  await page.context().close();
});
