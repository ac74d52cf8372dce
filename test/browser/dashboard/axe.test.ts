import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations } from '../harness/axe.ts';
import { withCohorts } from './harness/cohort_answers.ts';
import { healthOf, withConditions } from './harness/concern_answers.ts';
import { withLive, withTrace } from './harness/live_answers.ts';
import { withMembers } from './harness/member_answers.ts';
import { withDeadLetters, withKeys, withReplays } from './harness/operations_answers.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { withRefusals } from './harness/refusal_answers.ts';
import { withAccount, withDefinitions, withSettings } from './harness/settings_answers.ts';
import { refusal, type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const broken = healthOf('meta', { state: 'failing', reason: 'http_500', waiting: 4 });
const shop = (): StubApi =>
  withTrace(withLive(withConditions(withTraffic(startStubApi()), { health: [broken] }), Date.now() - 9_000, 40));

const operated = (): StubApi =>
  withMembers(withAccount(withDefinitions(withSettings(withKeys(withDeadLetters(withReplays(startStubApi())))))));

/** Every page that there is, what shows that it is there, and what is opened on it. */
const PAGES: [name: string, path: string, ready: string, api: StubApi][] = [
  ['sign-in', '/', 'Password', shop().on('GET', '/v1/session', refusal(401, 'session_missing'))],
  ['overview', '/sites/shop/overview', 'meta is not delivering', shop()],
  ['live', '/sites/shop/live', 'not shown', shop()],
  ['an event beside Live', '/sites/shop/live?open=e-1', 'try later', shop()],
  ['what was not accepted', '/sites/shop/refusals', 'svc_pk_4fGh', withRefusals(shop())],
  ['an event', '/sites/shop/events/e-1', 'try later', shop()],
  ['cohorts', '/sites/shop/cohorts', '1,234', withCohorts(startStubApi())],
  ['a cohort', '/sites/shop/cohorts?cohort=regulars', 'Count people', withCohorts(startStubApi())],
  [
    'a cohort of a list',
    '/sites/shop/cohorts?cohort=vips',
    'Addresses and numbers are hashed',
    withCohorts(startStubApi()),
  ],
  ['a new cohort', '/sites/shop/cohorts?cohort=%2B', 'Add an event', withCohorts(startStubApi())],
  ['no such page', '/nowhere', 'Page not found', shop()],
  [
    'a part away',
    '/sites/shop/live',
    'ClickHouse is not responding',
    shop().on('POST', /\/live$/, refusal(503, 'query_unavailable')),
  ],
];
const SIZES = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];

test.for(PAGES)(
  '%s: axe finds nothing, light and dark, wide and narrow, and nothing is wider than the screen',
  async ([, path, ready, api]) => {
    const { page, context, faults } = await dashboard.visit(path, api);
    await page.getByText(ready).first().waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const size of SIZES) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize(size);
        expect(await axeViolations(page), `${colorScheme} ${size.width}`).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(size.width);
      }
    }
    expect(faults).toEqual([]);
    await context.close();
  },
);

/** Pages about keeping things going, and what is opened on them. */
const OPERATE: [name: string, path: string, ready: string][] = [
  ['destinations', '/sites/shop/destinations', 'Failing'],
  ['settings of a destination', '/sites/shop/destinations?destination=meta&view=settings', 'Pixel'],
  ['attempts of a destination', '/sites/shop/destinations?destination=meta&view=attempts', 'Outcome'],
  ['a new destination', '/sites/shop/destinations?add=1', 'Enable now'],
  ['dead letters', '/dead-letters', 'transform_failed'],
  ['a dead letter', '/dead-letters?letter=delivery-0-2', 'Delivery attempts'],
  ['a new replay', '/replays?new=1', 'Count events'],
  ['keys', '/sites/shop/keys', 'svc_pk_4fGh2'],
  ['a key', `/sites/shop/keys?key=${'a'.repeat(64)}`, 'Rotate'],
  ['site settings', '/sites/shop/settings', 'General settings'],
  ['consent', '/sites/shop/settings?view=consent', 'Tag settings'],
  ['pages', '/sites/shop/settings?view=pages', 'Join ids'],
  ['domains', '/sites/shop/settings?view=domains', '_svc.events.shop.example'],
  ['block rules', '/sites/shop/settings?view=block', 'Add rule'],
  ['install', '/sites/shop/install', 'Snippet in the head'],
  ['a new site', '/new-site', 'Create site'],
  ['usage', '/account', 'Acme Ltd'],
  ['audit', '/account?view=audit&change=3', 'Changed secrets'],
  ['tokens', '/account?view=tokens', 'API tokens'],
  ['members', '/account?view=members', 'Has a role in'],
  ['a member', '/account?view=members&user=bea', 'End all sessions'],
  ['how you sign in', '/account?view=you', 'Current'],
  ['definitions', '/sites/shop/definitions', 'Stopped firing'],
  ['a definition', '/sites/shop/definitions?definition=buy', 'Element selector'],
  ['surveys', '/sites/shop/engage', 'Placement'],
  ['a survey', '/sites/shop/engage?item=nps', 'why: 3 answers'],
  ['a new survey', '/sites/shop/engage?item=%2B', 'Add a question'],
  ['a new promo', '/sites/shop/engage?kind=promo&item=%2B', 'Button text'],
  ['a new form', '/sites/shop/engage?kind=form&item=%2B', 'Add a field'],
];

test.for(OPERATE)('%s: axe finds nothing, light and wide or dark and narrow', async ([, path, ready]) => {
  const { page, context, faults } = await dashboard.visit(path, operated());
  await page.getByText(ready).first().waitFor();
  for (const [at, colorScheme] of (['light', 'dark'] as const).entries()) {
    const size = SIZES[at] ?? SIZES[0];
    await page.emulateMedia({ colorScheme });
    if (size !== undefined) await page.setViewportSize(size);
    expect(await axeViolations(page), colorScheme).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(size?.width ?? 0);
  }
  expect(faults).toEqual([]);
  await context.close();
});
