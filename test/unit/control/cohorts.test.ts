import { describe, expect, it } from 'vitest';
import { testPhoneHmac } from '#test/harness/event_row.ts';
import { control, controlWithShop } from './harness.ts';

const PATH = 'sites/shop/cohorts';
const BUYERS = { id: 'buyers', name: 'Buyers', conditions: [{ did: { events: ['purchase'] }, times: 2 }] };
const of = (id: string, ...others: string[]) => ({
  ...{ id, name: id },
  conditions: others.map((cohort) => ({ field: { cohort }, is: 'in' })),
});

describe('cohorts', () => {
  it('are made, read, replaced, listed and removed, and each change is in the audit', async () => {
    const world = await controlWithShop();
    const made = await world.call('POST', PATH, { body: BUYERS });
    expect(made).toMatchObject({ status: 201, body: { ...BUYERS, revision: 1 } });
    const change = { body: { ...BUYERS, name: 'Two' }, ifMatch: made.etag };
    const replaced = await world.call('PUT', `${PATH}/buyers`, change);
    expect(replaced.body).toMatchObject({ name: 'Two', revision: 2 });
    expect((await world.call('GET', PATH)).body.items).toEqual([replaced.body]);
    expect((await world.call('PUT', `${PATH}/buyers`, change)).body.error.code).toBe('version_conflict');
    expect((await world.call('DELETE', `${PATH}/buyers`, { ifMatch: replaced.etag })).status).toBe(200);
    expect((await world.call('GET', `${PATH}/buyers`)).body.error.code).toBe('cohort_unknown');
    const audit = await world.call('GET', 'audit?setting_key=cohort/shop/buyers');
    expect(audit.body.items.map(({ action }: { action: string }) => action)).toEqual(['delete', 'change', 'create']);
  });

  it('may be of others, but of themselves by no way, and no more than three deep', async () => {
    const world = await controlWithShop();
    await world.call('POST', PATH, { body: BUYERS });
    const second = await world.call('POST', PATH, { body: of('second', 'buyers') });
    await world.call('POST', PATH, { body: of('third', 'second', 'buyers') });
    const code = async (method: string, path: string, options: object): Promise<string> => {
      const { body } = await world.call(method, path, options);
      return body.problems?.[0]?.code ?? body.error.code;
    };
    expect(await code('POST', PATH, { body: of('fourth', 'third') })).toBe('cohort_too_deep');
    expect(await code('POST', PATH, { body: of('self', 'self') })).toBe('cohort_circular');
    expect(await code('PUT', `${PATH}/second`, { body: of('second', 'third'), ifMatch: second.etag })).toBe(
      'cohort_circular',
    );
    expect(await code('POST', PATH, { body: of('lost', 'nowhere') })).toBe('not_there');
    expect(await code('DELETE', `${PATH}/second`, { ifMatch: second.etag })).toBe('cohort_in_use');
  });

  it.each([
    [{ did: {}, times: 0 }, 'conditions[0].times'],
    [{ did: {}, last_days: 3, since: '2026-01-01' }, 'conditions[0].last_days'],
    [{ did: {}, since: '2026-02-30' }, 'conditions[0].since'],
    [{ did: {}, since: '2026-02-03', until: '2026-02-02' }, 'conditions[0].until'],
    [{ field: { column: 'country' }, is: 'set' }, 'conditions[0].field'],
  ])('%j is refused', async (condition, field) => {
    const world = await controlWithShop();
    const { status, body } = await world.call('POST', PATH, { body: { id: 'x', name: 'X', conditions: [condition] } });
    expect([status, body.problems[0].field]).toEqual([400, field]);
  });

  it('keep no address, no number and no bare hash of one', async () => {
    const world = await controlWithShop();
    const condition = (to: string) => ({
      field: { person: { column: 'phone_hmac' }, seen: 'last' },
      is: 'equal',
      to: [to],
    });
    const saved = await world.call('POST', PATH, { body: { ...BUYERS, conditions: [condition('0a'.repeat(32))] } });
    expect(saved.body.conditions[0].to).toEqual([testPhoneHmac('shop', '0a'.repeat(32))]);
    const named = await world.call('POST', PATH, { body: { id: 'x', name: 'ada@example.com' } });
    expect(named.body.problems[0].code).toBe('personal_text');
  });

  it('stay lists or stay conditions, and only a list has members', async () => {
    const world = await controlWithShop();
    const list = await world.call('POST', PATH, { body: { id: 'vips', name: 'VIPs' } });
    expect(list.body).not.toHaveProperty('conditions');
    const other = { body: { ...BUYERS, id: 'vips' }, ifMatch: list.etag };
    expect((await world.call('PUT', `${PATH}/vips`, other)).body.problems[0].field).toBe('conditions');
    await world.call('POST', PATH, { body: BUYERS });
    const members = { body: { members: [{ distinct_id: 'ann' }] } };
    expect((await world.call('POST', `${PATH}/buyers/members`, members)).body.error.code).toBe('cohort_no_list');
    const added = await world.call('POST', `${PATH}/vips/members`, {
      body: {
        members: [{ distinct_id: 'ann' }, { distinct_id: 'ann' }, { email: 'x' }, {}, { person_id: 'a', email: 'b' }],
      },
    });
    expect(added.status).toBe(400);
    const some = await world.call('POST', `${PATH}/vips/members`, {
      body: { members: [{ distinct_id: 'ann' }, { distinct_id: 'ann' }, { email: 'x' }, {}] },
    });
    expect(some.body).toEqual({ taken: 2, refused: 2, refused_at: [2, 3], listed: 1 });
    const audit = await world.call('GET', 'audit?setting_key=cohort/shop/vips');
    expect(JSON.stringify(audit.body)).not.toContain('ann');
  });

  it('have no erased person added', async () => {
    const world = await controlWithShop();
    await world.call('POST', PATH, { body: { id: 'vips', name: 'VIPs' } });
    const person_id = `p_${'a'.repeat(32)}`;
    world.persons.gone.add(person_id);
    const { body } = await world.call('POST', `${PATH}/vips/members`, { body: { members: [{ person_id }] } });
    expect(body).toMatchObject({ taken: 0, refused: 1, listed: 0 });
  });

  it('that single people out are asked about by whoever may see persons', async () => {
    const world = await controlWithShop();
    await world.call('POST', PATH, { body: { id: 'vips', name: 'VIPs' } });
    await world.call('POST', PATH, { body: BUYERS });
    const grants = [{ role: 'viewer', site_id: 'shop' }];
    const { body: issued } = await world.call('POST', 'tokens', { body: { label: 'viewer', grants } });
    const codeOf = async (path: string, body: object, method = 'POST'): Promise<string | undefined> =>
      (await world.call(method, path, { body, token: issued.secret })).body.error?.code;
    const sizes = (cohort: string) => ({ of: [{ cohort }] });
    expect(await codeOf('/v1/query/shop/cohorts', sizes('vips'))).toBe('permission_missing');
    expect(await codeOf('/v1/query/shop/cohorts', sizes('buyers'))).not.toBe('permission_missing');
    expect(await codeOf('/v1/query/shop/members', { cohort: 'buyers' })).toBe('permission_missing');
    expect(await codeOf(PATH, BUYERS)).toBe('permission_missing');
    const listed = await world.call('GET', PATH, { token: issued.secret });
    expect(listed.body.items).toHaveLength(2);
  });

  it('are of their site', async () => {
    const world = await control();
    expect((await world.call('GET', 'sites/nowhere/cohorts')).body.error.code).toBe('site_unknown');
  });
});
