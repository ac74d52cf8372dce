import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import type { ShownDay } from './demo_day.ts';

interface PictureSpec {
  /** What the file is called, before its width and scheme. */
  name: string;
  /** After /dashboard. */
  path: string;
  /** A text that is there when the page has its data. */
  ready: string | RegExp;
  /** A button that opens what is shown. */
  press?: string;
}

const SIZE = { width: 1280, height: 800 };
const QUALITY = 65;
/** Time for charts to be drawn again at another size. */
const SETTLING_MS = 500;
const READY_MS = 30_000;

/** Every page that there is, with what the day has for it. */
function specsOf({ eventId, personId, erasureId }: ShownDay): PictureSpec[] {
  const site = '/sites/shop';
  const steps = ['page_view', 'view_item', 'add_to_cart', 'begin_checkout', 'purchase'];
  const asked = (question: object): string => `period=24h&q=${encodeURIComponent(JSON.stringify(question))}`;
  const funnel = { steps: steps.map((name) => ({ events: [name] })), window_ms: 2_592_000_000 };
  const trends = {
    series: [{ events: ['purchase'] }],
    breakdown: { fields: [{ column: 'country' }], limit: 5 },
    compare: 'previous',
  };
  return [
    { name: 'overview', path: `${site}/overview?period=24h`, ready: 'Revenue USD' },
    { name: 'live', path: `${site}/live`, ready: 'received' },
    { name: 'not-accepted', path: `${site}/refusals?period=24h`, ready: /rejected|By reason/i },
    { name: 'live-event', path: `${site}/live?open=${encodeURIComponent(eventId)}`, ready: 'Accepted' },
    { name: 'event', path: `${site}/events/${encodeURIComponent(eventId)}`, ready: 'Accepted' },
    { name: 'funnels', path: `${site}/funnels?${asked(funnel)}`, ready: 'Show as a table' },
    { name: 'trends', path: `${site}/trends?${asked(trends)}`, ready: 'Whole period' },
    { name: 'retention', path: `${site}/retention`, ready: 'Result' },
    { name: 'paths', path: `${site}/paths?period=24h`, ready: 'Result' },
    { name: 'people', path: `${site}/people`, ready: 'Find a person' },
    { name: 'person', path: `${site}/people/${encodeURIComponent(personId)}`, ready: 'Revenue USD' },
    {
      ...{ name: 'person-data', path: `${site}/people/${encodeURIComponent(personId)}`, press: 'Data and erasure' },
      ready: 'identity.links',
    },
    { name: 'erasure', path: `${site}/people?erasure=${erasureId}`, ready: 'Notified by person.erased' },
    { name: 'boards', path: `${site}/boards`, ready: 'Monday' },
    { name: 'board', path: `${site}/boards/monday?period=24h`, ready: 'From page to purchase' },
    { name: 'destinations', path: `${site}/destinations`, ready: 'Waiting' },
    { name: 'destination', path: `${site}/destinations?destination=webhook`, ready: 'Delay since arrival' },
    { name: 'dead-letters', path: '/dead-letters', ready: /dead letter/i },
    { name: 'replays', path: '/replays', ready: /meta/i },
    { name: 'definitions', path: `${site}/definitions`, ready: 'add_to_cart' },
    { name: 'surveys', path: `${site}/engage`, ready: 'After the purchase' },
    { name: 'survey', path: `${site}/engage?item=after-purchase`, ready: 'After the purchase' },
    { name: 'keys', path: `${site}/keys`, ready: 'demo' },
    { name: 'settings', path: `${site}/settings`, ready: 'Name' },
    { name: 'install', path: `${site}/install`, ready: /key/i },
    { name: 'operations', path: '/operations', ready: 'dedup' },
    { name: 'account', path: '/account', ready: /allowance/i },
  ];
}

/** Takes every page, and the page to sign in at last. */
export async function takePictures(page: Page, shown: ShownDay, folder: string): Promise<void> {
  const tools = await page.context().newCDPSession(page);
  const { origin } = new URL(page.url());
  for (const spec of specsOf(shown)) {
    await page.goto(`${origin}/dashboard${spec.path}`);
    if (spec.press !== undefined) await page.getByRole('button', { name: spec.press }).click();
    await takeOne(page, tools, spec, folder);
  }
  await page.context().clearCookies();
  await page.goto(`${origin}/dashboard/`);
  await takeOne(page, tools, { name: 'sign-in', path: '/', ready: 'Password' }, folder);
}

async function takeOne(page: Page, tools: CDPSession, { name, ready }: PictureSpec, folder: string): Promise<void> {
  await page.setViewportSize(SIZE);
  await page.locator('#app').getByText(ready).filter({ visible: true }).first().waitFor({ timeout: READY_MS });
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await settled(page);
  const { data } = await tools.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  const bytes = Buffer.from(data, 'base64');
  const file = `${name}-${SIZE.width}-light.webp`;
  writeFileSync(join(folder, file), bytes);
  console.log(`${file}: ${Math.round(bytes.length / 1_000)} kB`);
}

/** Waits until nothing has been loading for a while: an answer may be the first to say what is asked next. */
async function settled(page: Page): Promise<void> {
  const isLoading = (): Promise<boolean> => page.evaluate(() => document.querySelector('.skeleton') !== null);
  do {
    await page.waitForFunction(() => document.querySelector('.skeleton') === null, undefined, { timeout: READY_MS });
    await page.waitForTimeout(SETTLING_MS);
  } while (await isLoading());
}
