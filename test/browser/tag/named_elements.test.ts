import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(() => world.reset());

/** The page, with this in front of the tag's element. */
const withBefore = (markup: string): void => {
  const tag = `<script async src="${world.collector}/svc.min.js" data-key="svc_pk_test"></script>`;
  world.pages['/'] = { tag: ' ', body: markup + tag };
};

test('a picture that a stranger named currentScript does not tell the tag where the edge is', async () => {
  const evil = world.edgeProxy.origin('evil.example');
  const asked: string[] = [];
  withBefore(`<img name="currentScript" src="${evil}/svc.min.js" data-key="theirs" alt="">`);
  world.configure({ tag: { inventory: false, engage: true } });
  const context = await world.visitor();
  context.on('request', (request) => {
    if (request.url().startsWith(evil)) asked.push(request.resourceType());
  });
  const page = await world.visit(context);
  await world.taken('$pageview');
  await page.waitForFunction(() => [...document.scripts].some(({ src }) => src.includes('svc-engage')));
  await page.waitForTimeout(300);
  expect(world.edge.posts()[0]?.url).toBe('/v1/ingest?key=svc_pk_test');
  expect(asked).toEqual(['image']);
  await context.close();
});

test('a form whose id is svc stops nothing, and stays as it is', async () => {
  withBefore('<form id="svc"><input name="status"><input name="q"></form>');
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.taken('$pageview');
  await page.evaluate(() => window.svc.track('later'));
  await world.taken('later');
  expect(await page.evaluate(() => document.querySelector('form')?.reset === HTMLFormElement.prototype.reset)).toBe(
    true,
  );
  await context.close();
});
