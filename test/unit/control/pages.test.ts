import { describe, expect, it } from 'vitest';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import { PAGE_DEFAULTS } from '#schemas/setting.ts';
import { controlWithShop } from './harness.ts';

const ROW = {
  ...{ page: '/b', views: 3, sources: [['/B', 2]], source_pages: 2, is_changed: 1 },
  ...{ all_views: 9, all_sources: 5, all_pages: 4 },
};

describe('rules of pages', () => {
  it('are changed by their members, and apply to the next question', async () => {
    const asked: Statement[] = [];
    const world = await controlWithShop(async (statement) => {
      asked.push(statement);
      return [];
    });
    const patch = (pages: object) => world.call('PATCH', 'sites/shop', { body: { pages }, ifMatch: '*' });
    expect((await world.call('GET', 'sites/shop')).body).toMatchObject({ pages: PAGE_DEFAULTS });
    await patch({ rules: ['/blog/*'] });
    const { body } = await patch({ lower_case: true });
    expect(body.pages).toEqual({ ...PAGE_DEFAULTS, lower_case: true, rules: ['/blog/*'] });
    const field = { property: ['$current_url'], part: 'page' };
    await world.call('POST', '/v1/query/shop/top', { body: { from: 0, to: 1, field } });
    await world.call('POST', '/v1/query/shop/top', {
      body: { from: 0, to: 1, field: { ...field, property: ['$referrer'] } },
    });
    expect(asked.map(({ sql }) => sql.includes('lowerUTF8'))).toEqual([true, false]);
    expect(Object.values(asked[0]?.parameters ?? {})).toContainEqual(['^(?:[^/]*//[^/]*)?/blog/.+$']);
  });

  it('are refused by a code that is stable', async () => {
    const world = await controlWithShop();
    const refused = async (pages: object) => {
      const { status, body } = await world.call('PATCH', 'sites/shop', { body: { pages }, ifMatch: '*' });
      return [status, body.problems[0].code];
    };
    expect(await refused({ rules: ['blog'] })).toEqual([400, 'page_rule_malformed']);
    expect(await refused({ parameters: ['a=b'] })).toEqual([400, 'page_parameter_malformed']);
    expect(await refused({ rules: ['/jane@shop.example'] })).toEqual([400, 'personal_text']);
    expect(await refused({ regex: true })).toEqual([400, 'field_unknown']);
  });

  it('show what they would make of pages, and change nothing', async () => {
    const world = await controlWithShop(async () => [ROW]);
    const preview = await world.call('POST', 'sites/shop/pages/preview', { body: { pages: { lower_case: true } } });
    expect(preview).toMatchObject({
      status: 200,
      body: {
        ...{ views: 9, pages_before: 5, pages_after: 4 },
        items: [{ page: '/b', views: 3, is_changed: true, source_pages: 2, sources: [{ page: '/B', views: 2 }] }],
      },
    });
    expect(world.journal.view().table.site('shop')?.pages).toEqual(PAGE_DEFAULTS);
    const malformed = await world.call('POST', 'sites/shop/pages/preview', { body: { pages: { rules: ['x'] } } });
    expect(malformed.status).toBe(400);
  });
});
