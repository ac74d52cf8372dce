import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '#test/harness/until.ts';
import { visitUndriven } from '../harness/chromium.ts';
import { html, startPageServer } from '../harness/page_server.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld('whole');
});
afterAll(() => world.close());
beforeEach(() => world.reset());

const PRERENDERING = `
<script type="speculationrules">{"prerender":[{"urls":["/second"],"eagerness":"immediate"}]}</script>
<script>setTimeout(() => { location.href = '/second'; }, 2500);</script>`;
const SAYS_WHEN = `<script>
  if (document.prerendering) {
    fetch('/said/prerendering');
    document.addEventListener('prerenderingchange', () => fetch('/said/activated'));
  }
</script>`;

test('a page that is prerendered sends nothing before it is shown, and then one pageview', async () => {
  const saidMs = new Map<string, number>();
  const tag = `<script async src="${world.edge.url}/svc.min.js" data-key="svc_pk_test"></script>`;
  const pages: Record<string, string> = {
    '/first': html({ head: PRERENDERING }),
    '/second': html({ head: SAYS_WHEN + tag }),
  };
  const server = await startPageServer(({ url = '' }) => {
    if (url.startsWith('/said/')) saidMs.set(url, performance.now());
    const body = pages[url] ?? (url.startsWith('/said/') ? '' : undefined);
    return body === undefined ? undefined : { body };
  });
  await visitUndriven(`${server.url}/first`, world.taken('$pageview'));
  expect([...saidMs.keys()]).toEqual(['/said/prerendering', '/said/activated']);
  const firstMs = world.edge.posts()[0]?.atMs ?? 0;
  // The page says so by a request of its own, which may come a moment later.
  expect(firstMs).toBeGreaterThan((saidMs.get('/said/activated') ?? Number.POSITIVE_INFINITY) - 200);
  expect(firstMs).toBeGreaterThan((saidMs.get('/said/prerendering') ?? Number.POSITIVE_INFINITY) + 1_000);
  expect(world.events('$pageview')).toHaveLength(1);
  await server.close();
});

test('each return from the back/forward cache is one pageview', async ({ skip }) => {
  if (!world.browser.program.keepsPages) skip('a headless shell keeps no pages');
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.evaluate(() => {
    addEventListener('pageshow', ({ persisted }) => {
      if (persisted) document.title += ' again';
    });
  });
  for (const title of ['Shop again', 'Shop again again']) {
    // A page that has a request open may lose its place in the cache.
    await world.settled(page);
    await page.getByRole('link').click();
    await page.waitForURL('**/next');
    await world.settled(page);
    await page.goBack({ waitUntil: 'commit' });
    await until(
      title,
      () => page.title(),
      (seen) => seen === title,
    );
  }
  // What went out while the page was being left may be sent again, under its id: the edge's dedup lets it pass once.
  const paths = (): string[] =>
    [...new Map(world.events('$pageview').map((event) => [event.uuid, event])).values()].map(
      ({ properties }) => new URL(String(properties['$current_url'])).pathname,
    );
  await until('all pageviews', paths, (seen) => seen.length >= 5);
  await page.waitForTimeout(500);
  expect(paths().filter((path) => path === '/')).toHaveLength(3);
  expect(paths().filter((path) => path === '/next')).toHaveLength(2);
  await context.close();
});
