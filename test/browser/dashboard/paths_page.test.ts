import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ActorsQuery } from '#pipelines/analytics/people/query.ts';
import { ROLE_PERMISSIONS } from '#pipelines/settings/access.ts';
import { axeViolations } from '../harness/axe.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const AT = '/sites/shop/paths?period=7d';
const node = (value: string, paths: number) => ({ value, paths, begins: 0, ends: 0, goes_on: 0 });

interface PathsWorld {
  api: StubApi;
  /** What lists were asked for. */
  listed: ActorsQuery['of'][];
  /** What paths were asked for. */
  paths: object[];
}

/** A shop where some went from page_view to purchase and others elsewhere. */
function pathsWorld(): PathsWorld {
  const [listed, paths]: [ActorsQuery['of'][], object[]] = [[], []];
  const api = withTraffic(startStubApi())
    .on('POST', /\/paths$/, (body) => {
      paths.push(body ?? {});
      return {
        paths: 10,
        places: [
          { place: 0, values: [node('page_view', 10)], other: null },
          { place: 1, values: [node('purchase', 6)], other: { ...node('', 4), values: 3 } },
        ],
        edges: [
          { place: 0, from: 'page_view', to: 'purchase', paths: 6 },
          { place: 0, from: 'page_view', to: null, paths: 4 },
        ],
        as_of: 0,
      };
    })
    .on('POST', /\/actors$/, (body) => {
      listed.push((body as ActorsQuery).of);
      return { total: 6, actors: [], next: null, as_of: 0 };
    });
  return { api, listed, paths };
}

test('who goes a way is listed from a node, a link and the table, by keyboard', async () => {
  const { api, listed } = pathsWorld();
  const { page, context, faults } = await dashboard.visit(AT, api);
  const link = page.getByRole('button', { name: 'page_view → purchase: 6', exact: true });
  await link.focus();
  await page.keyboard.press('Enter');
  const menu = page.getByRole('group', { name: 'page_view → purchase' });
  await menu.waitFor();
  expect(await axeViolations(page)).toEqual([]);
  expect(await menu.getByRole('button').allTextContents()).toEqual([
    'Show people (6)',
    'Paths from page_view',
    'Paths from purchase',
  ]);
  await page.keyboard.press('Escape');
  await menu.waitFor({ state: 'detached' });
  expect(await link.evaluate((shape) => shape === document.activeElement)).toBe(true);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText('6 in all').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Others/ }).click();
  await page.getByRole('button', { name: 'Show people (4)' }).click();
  await page.getByRole('dialog').getByText('6 in all').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: '4: show people, page_view → Others' }).click();
  await page.getByRole('dialog').getByText('6 in all').waitFor();
  const range = { from: expect.any(Number), to: expect.any(Number) };
  const paths = expect.objectContaining(range);
  expect(listed).toEqual([
    { paths, place: 0, way: ['page_view', 'purchase'] },
    { paths, place: 1, way: [null] },
    { paths, place: 0, way: ['page_view', null] },
  ]);
  expect(faults).toEqual([]);
  await context.close();
});

test('what is wider than the screen scrolls by keyboard, with a shadow where there is more', async () => {
  const { page, context, faults } = await dashboard.visit(AT, pathsWorld().api, {
    viewport: { width: 390, height: 844 },
  });
  const region = page.getByRole('region', { name: 'Path chart' });
  const edges = (): Promise<string[]> =>
    region.evaluate((section) => [...(section.parentElement?.classList ?? [])].filter((one) => one.startsWith('more')));
  await expect.poll(edges).toEqual(['more-after']);
  await region.focus();
  for (let at = 0; at < 10; at++) await page.keyboard.press('ArrowRight');
  await expect.poll(edges).toEqual(['more-before']);
  expect(await axeViolations(page)).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
  await expect.poll(edges).toEqual([]);
  expect(faults).toEqual([]);
  await context.close();
});

test('paths from a node are asked for, and somewhere else closes what is open', async () => {
  const { api, paths } = pathsWorld();
  const { page, context, faults } = await dashboard.visit(AT, api);
  await page.getByRole('button', { name: /^purchase/ }).click();
  const from = page.getByRole('button', { name: 'Paths from here' });
  await from.waitFor();
  await page.getByText('10 paths').click();
  await from.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^purchase/ }).click();
  await from.click();
  await expect.poll(() => paths.at(-1)).toMatchObject({ starting_at: 'purchase' });
  expect(faults).toEqual([]);
  await context.close();
});

test('a menu has each choice once, and where nobody may be listed there is none without a choice', async () => {
  const { api } = pathsWorld();
  const places = [0, 1].map((place) => ({ place, values: [node('page_view', 6), node('', 4)], other: null }));
  const edges = ['page_view', ''].map((value) => ({ place: 0, from: value, to: value, paths: 4 }));
  const permissions = ROLE_PERMISSIONS.owner.filter((one) => one !== 'query.persons');
  const grants = [{ role: 'owner', account_id: null, site_id: null, permissions }];
  api
    .on('POST', /\/paths$/, { paths: 10, places, edges, as_of: 0 })
    .on('GET', '/v1/session', { id: 'ana', name: 'Ana Lopes', kind: 'user', grants });
  const { page, context } = await dashboard.visit(AT, api);
  const links = page.getByRole('group', { name: 'Links' }).getByRole('button');
  await links.click();
  const menu = page.getByRole('group', { name: 'page_view → page_view' });
  expect(await menu.getByRole('button').allTextContents()).toEqual(['Paths from page_view']);
  expect(await axeViolations(page)).toEqual([]);
  await context.close();
});
