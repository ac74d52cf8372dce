import { describe, expect, it } from 'vitest';
import { ENGAGE_EXAMPLES } from '#services/control/engage/routes.ts';
import { FORM, PROMO, SURVEY } from '#test/unit/engage/samples.ts';
import { controlWithShop } from './harness.ts';

const COLLECTIONS = [
  ['surveys', SURVEY],
  ['promos', PROMO],
  ['forms', FORM],
] as const;

describe.each(COLLECTIONS)('%s', (path, least) => {
  const collection = `sites/shop/${path}`;
  const item = `${collection}/${least.id}`;

  it('are created, read, replaced, listed and removed', async () => {
    const world = await controlWithShop();
    const created = await world.call('POST', collection, { body: least });
    expect(created).toMatchObject({ status: 201, body: { ...least, enabled: true, revision: 1 } });
    expect((await world.call('GET', item)).body).toEqual(created.body);
    const replaced = await world.call('PUT', item, { body: { ...least, name: 'New' }, ifMatch: created.etag });
    expect(replaced).toMatchObject({ status: 200, body: { name: 'New', revision: 2 } });
    expect((await world.call('GET', collection)).body).toEqual({ items: [replaced.body], next: null });
    expect(await world.call('DELETE', item, { ifMatch: replaced.etag })).toMatchObject({ status: 200 });
    expect((await world.call('GET', item)).body.error.code).toBe('engage_definition_unknown');
  });

  it('are not changed blindly, nor by whoever saw an earlier one', async () => {
    const world = await controlWithShop();
    const { etag } = await world.call('POST', collection, { body: least });
    expect((await world.call('PUT', item, { body: least })).body.error.code).toBe('if_match_missing');
    await world.call('PUT', item, { body: { ...least, name: 'New' }, ifMatch: etag });
    expect((await world.call('PUT', item, { body: least, ifMatch: etag })).body.error.code).toBe('version_conflict');
    expect((await world.call('DELETE', item, { ifMatch: etag })).body.error.code).toBe('version_conflict');
  });

  it('keep their revision when they are replaced by themselves', async () => {
    const world = await controlWithShop();
    const { etag } = await world.call('POST', collection, { body: least });
    expect((await world.call('PUT', item, { body: least, ifMatch: etag })).body.revision).toBe(1);
  });

  it('stand in the audit, field by field', async () => {
    const world = await controlWithShop();
    const { etag } = await world.call('POST', collection, { body: least });
    await world.call('PUT', item, { body: { ...least, priority: 7 }, ifMatch: etag });
    const kind = path.slice(0, -1);
    const [change] = (await world.call('GET', 'audit?limit=1')).body.items;
    expect(change).toMatchObject({
      setting_key: `engage/shop/${kind}/${least.id}`,
      before: { definition: { priority: 50 }, version: 1 },
      after: { definition: { priority: 7 }, version: 2 },
    });
  });

  it('are 50 at most', async () => {
    const world = await controlWithShop();
    for (let at = 0; at < 50; at += 1) {
      expect((await world.call('POST', collection, { body: { ...least, id: `d${at}` } })).status).toBe(201);
    }
    expect((await world.call('POST', collection, { body: least })).body.error.code).toBe('limit_reached');
  });

  it.each([
    [{ ...least, id: 'Big' }, 'field_malformed'],
    [{ ...least, frequency: { max_times: 0 } }, 'field_malformed'],
    [{ ...least, sharepercent: 5 }, 'field_unknown'],
    [{ id: least.id }, 'field_missing'],
  ])('are refused with %j', async (body, code) => {
    const world = await controlWithShop();
    const refused = await world.call('POST', collection, { body });
    expect(refused.status).toBe(400);
    expect(refused.body.problems.map((problem: { code: string }) => problem.code)).toContain(code);
  });

  it('are refused twice under one id, and for a site that is not there', async () => {
    const world = await controlWithShop();
    await world.call('POST', collection, { body: least });
    expect((await world.call('POST', collection, { body: least })).body.error.code).toBe('engage_definition_exists');
    expect((await world.call('POST', `sites/none/${path}`, { body: least })).body.error.code).toBe('site_unknown');
  });
});

it('audiences of one site name 50 events at most', async () => {
  const world = await controlWithShop();
  const about = (from: number) => ({
    targeting: { audience: [0, 1, 2, 3, 4].map((at) => ({ event: `event ${from + at}` })) },
  });
  for (let at = 0; at < 50; at += 5) {
    await world.call('POST', 'sites/shop/promos', { body: { ...PROMO, id: `p${at}`, ...about(at) } });
  }
  const refused = await world.call('POST', 'sites/shop/promos', { body: { ...PROMO, ...about(50) } });
  expect(refused.body.problems).toMatchObject([{ code: 'too_many', field: 'targeting.audience' }]);
});

it.each(Object.keys(ENGAGE_EXAMPLES))('the example of %s is taken', async (operation) => {
  const world = await controlWithShop();
  const path = `sites/shop/${operation.replace(/create|replace/, '').toLowerCase()}s`;
  const created = await world.call('POST', path, { body: ENGAGE_EXAMPLES[operation] });
  expect(created).toMatchObject({ status: 201 });
});
