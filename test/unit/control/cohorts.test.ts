import { describe, expect, it } from 'vitest';
import { queryRoutes } from '#services/control/queries/routes.ts';
import { testPhoneHmac } from '#test/harness/event_row.ts';
import { control, controlWithShop, NOW_MS } from './harness.ts';

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

  it('have with those that they name no more conditions than a question may have, also once one of these changes', async () => {
    const world = await controlWithShop();
    const did = (count: number) => Array.from({ length: count }, () => ({ did: {} }));
    const by = (id: string, ...conditions: object[]) => ({ id, name: id, conditions });
    for (const id of ['a', 'b']) await world.call('POST', PATH, { body: by(id, ...did(10)) });
    const small = await world.call('POST', PATH, { body: by('c', ...did(1)) });
    const naming = (...ids: string[]) => ids.map((cohort) => ({ field: { cohort }, is: 'in' }));
    const first = async (method: string, path: string, options: object): Promise<object | undefined> =>
      (await world.call(method, path, options)).body.problems?.[0];
    const many = by('d', ...naming('a', 'b', 'c'), ...did(7));
    expect(await first('POST', PATH, { body: many })).toMatchObject({ code: 'too_many' });
    expect((await world.call('POST', PATH, { body: by('d', ...naming('a', 'b', 'c'), ...did(6)) })).status).toBe(201);
    const grown = { body: by('c', ...did(2)), ifMatch: small.etag };
    expect(await first('PUT', `${PATH}/c`, grown)).toMatchObject({ code: 'too_many', field: 'conditions' });
    // Each list is looked at for every person, too.
    const lists = Array.from({ length: 30 }, (_, at) => `list-${at}`);
    for (const id of lists) await world.call('POST', PATH, { body: { id, name: id } });
    const ofLists = by(
      'e',
      ...[lists.slice(0, 15), lists.slice(15)].map((some) => ({ did: { filters: naming(...some) } })),
    );
    expect(await first('POST', PATH, { body: ofLists })).toMatchObject({ code: 'too_many' });
    const unsaved = { of: [0, 1, 2, 3].map(() => ({ conditions: did(10) })) };
    expect(await first('POST', '/v1/query/shop/cohorts', { body: unsaved })).toMatchObject({ code: 'too_many' });
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
      body: {
        members: [
          ...[{ distinct_id: 'ann' }, { distinct_id: 'ann' }, { email: 'x' }, {}],
          // Of many, who are nobody.
          ...[{ external_id: 'undefined' }, { distinct_id: 'null' }, { email: 'Nobody@shop.example' }],
          ...[{ phone: '+49 30 00000000' }, { email: 'noah@shop.example' }],
        ],
      },
    });
    const refusals = [
      { at: 2, code: 'unreadable' },
      { at: 3, code: 'unreadable' },
      { at: 4, code: 'placeholder' },
      ...[5, 6, 7].map((at) => ({ at, code: 'placeholder' })),
    ];
    expect(some.body).toEqual({ taken: 3, refused: 6, refusals, listed: 2, replacement: null });
    const audit = await world.call('GET', 'audit?setting_key=cohort/shop/vips');
    expect(JSON.stringify(audit.body)).not.toContain('ann');
  });

  it('are lists that others take the place of all at once, while two of these are being filled too', async () => {
    const world = await controlWithShop();
    await world.call('POST', PATH, { body: { id: 'vips', name: 'VIPs' } });
    const members = `${PATH}/vips/members`;
    const add = async (replacement: string | undefined, ...ids: string[]) =>
      (
        await world.call('POST', members, {
          body: { ...(replacement && { replacement }), members: ids.map((distinct_id) => ({ distinct_id })) },
        })
      ).body;
    await add(undefined, 'ann', 'bob');
    const first = await add('new', 'carl');
    const second = await add('new', 'dora', 'emil');
    expect(first.replacement).not.toBe(second.replacement);
    // What is asked meanwhile finds who was there.
    expect(await add(undefined, 'ann')).toMatchObject({ listed: 2, replacement: null });
    const replace = (replacement: string) => world.call('PUT', members, { body: { replacement } });
    expect((await replace(first.replacement)).status).toBe(200);
    expect(await add(undefined, 'carl')).toMatchObject({ listed: 1 });
    expect(await add(second.replacement, 'fay')).toMatchObject({ listed: 3 });
    await replace(second.replacement);
    // Once more changes nothing.
    await replace(second.replacement);
    expect(await add(undefined, 'fay')).toMatchObject({ listed: 3 });
    expect(await add(first.replacement, 'gone')).toMatchObject({ listed: 1 });
    expect((await replace('new')).status).toBe(400);
  });

  it('lose single members', async () => {
    const world = await controlWithShop();
    await world.call('POST', PATH, { body: { id: 'vips', name: 'VIPs' } });
    const members = `${PATH}/vips/members`;
    const of = (...ids: string[]) => ({ body: { members: ids.map((distinct_id) => ({ distinct_id })) } });
    await world.call('POST', members, of('ann', 'bob', 'carl'));
    expect((await world.call('POST', `${members}/remove`, of('bob', 'nobody'))).body).toEqual({
      removed: 1,
      listed: 2,
    });
    expect((await world.call('POST', members, of('ann'))).body).toMatchObject({ listed: 2 });
    const many = of(...Array.from({ length: 501 }, (_, at) => `v-${at}`));
    expect((await world.call('POST', `${members}/remove`, many)).body.problems[0].field).toBe('members');
    const audit = await world.call('GET', 'audit?setting_key=cohort/shop/vips');
    expect(JSON.stringify(audit.body)).toContain('cohort.remove');
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

  it('change the answers about the past, which are not cached for as long', async () => {
    const world = await controlWithShop();
    await world.call('POST', PATH, { body: { id: 'vips', name: 'VIPs' } });
    const trends = queryRoutes.find(({ operationId }) => operationId === 'queryTrends');
    const context = { view: world.journal.view(), nowMs: NOW_MS, may: () => true };
    const ttlOf = (...filters: object[]): number | null => {
      const body = { from: 0, to: 1_000, interval: 'day', series: [{ filters }] };
      const asked = trends?.prepare?.({ params: { site_id: 'shop' }, query: {}, body } as never, context as never);
      return asked?.kind === 'query' ? asked.cacheTtlMs : null;
    };
    expect([ttlOf(), ttlOf({ field: { cohort: 'vips' }, is: 'in' })]).toEqual([600_000, 5_000]);
  });

  it('are of their site', async () => {
    const world = await control();
    expect((await world.call('GET', 'sites/nowhere/cohorts')).body.error.code).toBe('site_unknown');
  });
});
