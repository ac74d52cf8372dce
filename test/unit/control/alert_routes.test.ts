import { beforeEach, describe, expect, it } from 'vitest';
import { newState } from '#pipelines/alerts/judge.ts';
import { alertKey } from '#pipelines/settings/table.ts';
import { ALERT_EXAMPLES } from '#services/control/alerts/routes.ts';
import { type Control, controlWithShop } from './harness.ts';
import { grantOf, scopedWorld } from './scoped_world.ts';

const ALERTS = '/v1/admin/sites/shop/alerts';
const ALERT = ALERT_EXAMPLES['createAlert'] as { id: string; channels: object[] };

let world: Control;
beforeEach(async () => {
  world = await controlWithShop();
});

const problemsOf = async (body: object): Promise<string[]> => {
  const { status, body: answer } = await world.call('POST', ALERTS, { body });
  if (status === 201) return [];
  return (answer.problems ?? [answer.error]).map(
    ({ code, field }: { code: string; field?: string }) => `${code} ${field}`,
  );
};

describe('an alert', () => {
  it('is kept with its addresses sealed, and shown without them', async () => {
    const made = await world.call('POST', ALERTS, { body: ALERT });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      ...{ id: 'few-orders', enabled: true, grace_minutes: 10, recover_after: 1, notify_recovery: false },
      channels: [
        { id: 'team', kind: 'email', shown: '***@shop.example' },
        { id: 'pager', kind: 'webhook', shown: 'pager.example' },
      ],
    });
    const [kept] = world.journal.view().table.alerts('shop');
    expect(Object.keys(kept?.secrets ?? {})).toEqual(['team', 'pager']);
    const texts = [made.text, kept?.definition, JSON.stringify(world.journal.view().audit.list(10, null, () => true))];
    for (const text of texts) expect(text).not.toContain('team@');
    expect((await world.call('GET', `${ALERTS}/few-orders`)).text).not.toContain('/hook');
  });

  it('keeps the address of a channel for which none is given, but not for another kind of channel', async () => {
    await world.call('POST', ALERTS, { body: ALERT });
    const before = world.journal.view().table.alerts('shop')[0];
    const { etag } = await world.call('GET', `${ALERTS}/few-orders`);
    const channels = [{ id: 'team', kind: 'email' }];
    const changed = await world.call('PUT', `${ALERTS}/few-orders`, { body: { ...ALERT, channels }, ifMatch: etag });
    expect(changed.body.channels).toEqual([{ id: 'team', kind: 'email', shown: '***@shop.example' }]);
    expect(world.journal.view().table.alerts('shop')[0]?.secrets).toEqual({ team: before?.secrets['team'] });
    const other = [{ id: 'team', kind: 'slack' }];
    const refused = await world.call('PUT', `${ALERTS}/few-orders`, {
      body: { ...ALERT, channels: other },
      ifMatch: '*',
    });
    expect(refused.body.problems[0]).toMatchObject({ code: 'field_missing', field: 'channels[0].target' });
  });

  it('may be of a cohort that there is, by whoever may see who is in it, and keeps that from being removed', async () => {
    const of = (cohort: string) => {
      const filters = [{ field: { cohort }, is: 'in' }];
      return { ...ALERT, id: `of-${cohort}`, question: { series: [{ events: ['purchase'], filters }] } };
    };
    expect(await problemsOf(of('nobody'))).toEqual(['cohort_unknown undefined']);
    const cohorts = 'sites/shop/cohorts';
    await world.call('POST', cohorts, { body: { id: 'all', name: 'All', conditions: [{ did: {} }] } });
    const list = await world.call('POST', cohorts, { body: { id: 'vips', name: 'VIPs' } });
    const grants = [{ role: 'operator', site_id: 'shop' }];
    const { body: issued } = await world.call('POST', 'tokens', { body: { label: 'operator', grants } });
    const asOperator = async (body: object): Promise<number> =>
      (await world.call('POST', ALERTS, { body, token: issued.secret })).status;
    expect(await asOperator(of('all'))).toBe(201);
    expect(await asOperator(of('vips'))).toBe(403);
    expect(await problemsOf(of('vips'))).toEqual([]);
    const removed = await world.call('DELETE', `${cohorts}/vips`, { ifMatch: list.etag });
    expect(removed.body.error.code).toBe('cohort_in_use');
  });

  it.each([
    [
      'an inside address',
      { channels: [{ id: 'a', kind: 'webhook', target: 'https://10.0.0.1/x' }] },
      'address_refused channels[0].target',
    ],
    [
      'plain http',
      { channels: [{ id: 'a', kind: 'slack', target: 'http://hooks.example/x' }] },
      'address_refused channels[0].target',
    ],
    [
      'no e-mail address',
      { channels: [{ id: 'a', kind: 'email', target: 'Ann <a@b.example>' }] },
      'field_malformed channels[0].target',
    ],
    [
      'two addresses',
      { channels: [{ id: 'a', kind: 'email', target: 'a@b.example,c@b.example' }] },
      'field_malformed channels[0].target',
    ],
    ['a channel twice', { channels: [...ALERT.channels, ALERT.channels[0]] }, 'repeated channels'],
    ['a condition of another kind', { condition: { is: 'failing', minutes: 5 } }, 'field_malformed condition.is'],
    [
      'hours against a year',
      { interval: 'hour', condition: { is: 'fell', percent: 5, against: 'year' } },
      'field_malformed condition.against',
    ],
    ['no interval', { interval: undefined }, 'field_malformed interval'],
    ['two figures', { question: { series: [{}, {}] } }, 'field_malformed question'],
    ['an address in its name', { name: 'for ann@shop.example' }, 'personal_text alert'],
  ])('is refused with %s', async (_name, changes, problem) => {
    expect(await problemsOf({ ...ALERT, ...changes })).toEqual([problem]);
  });

  it('may be there fifty times', async () => {
    const channels = ALERT.channels.slice(0, 1);
    for (let at = 0; at < 50; at++) expect(await problemsOf({ ...ALERT, id: `a-${at}`, channels })).toEqual([]);
    expect(await problemsOf({ ...ALERT, id: 'one-more' })).toEqual(['limit_reached undefined']);
  });
});

describe('the states of alerts', () => {
  it('say until when one waits for its first interval, in the zone of the site', async () => {
    await world.call('PATCH', 'sites/shop', { body: { time_zone: 'Asia/Tokyo' }, ifMatch: '*' });
    const { body } = await world.call('POST', ALERTS, { body: { ...ALERT, interval: 'day' } });
    world.alerts.states.set('one', newState('shop', body, 'rule', Date.parse('2027-03-01T12:00Z')));
    world.alerts.states.set('gone', newState('shop', { id: 'gone' }, 'rule', 0));
    const { items } = (await world.call('GET', '/v1/admin/sites/shop/alert-states')).body;
    expect(items).toMatchObject([{ alert_id: 'few-orders', waits_until: Date.parse('2027-03-02T15:00Z') }]);
  });
});

describe('what an alert about a single person came to', () => {
  it('is for who may ask about persons', async () => {
    const scoped = await scopedWorld();
    const of = (role: string) => scoped.tokenOf(grantOf(role, { site_id: 'shop' }));
    const [analyst, viewer] = [await of('analyst'), await of('viewer')];
    const { question } = ALERT as unknown as { question: object };
    const filters = [{ field: { column: 'distinct_id' }, is: 'equal', to: ['u-17'] }];
    for (const body of [ALERT, { ...ALERT, id: 'of-one', question: { ...question, filters } }]) {
      expect((await scoped.call('POST', ALERTS, { body })).status).toBe(201);
      const made = (await scoped.call('GET', `${ALERTS}/${body.id}`)).body;
      scoped.alerts.states.set(body.id, newState('shop', made, 'rule', 0));
      await scoped.call('POST', `${ALERTS}/${body.id}/test`, { body: {} });
    }
    const seen = async (token: string, path: string): Promise<string[]> => {
      const { items } = (await scoped.call('GET', `/v1/admin/sites/shop/${path}`, { token })).body;
      return items.map(({ alert_id }: { alert_id: string }) => alert_id).sort();
    };
    for (const path of ['alert-states', 'fired-alerts']) {
      expect(await seen(analyst, path)).toEqual(['few-orders', 'of-one']);
      expect(await seen(viewer, path)).toEqual(['few-orders']);
    }
  });
});

describe('a test', () => {
  it('is asked of whoever leads, noted, and limited by the hour', async () => {
    await world.call('POST', ALERTS, { body: ALERT });
    const { status, body } = await world.call('POST', `${ALERTS}/few-orders/test`, { body: {} });
    expect(status).toBe(200);
    expect(body).toMatchObject({ is: 'test', alert_id: 'few-orders', sends: [{ state: 'due' }, { state: 'due' }] });
    expect((await world.call('GET', '/v1/admin/sites/shop/fired-alerts')).body.items).toHaveLength(1);
    const [entry] = world.journal.view().audit.list(1, null, () => true);
    expect(entry).toMatchObject({ setting_key: alertKey('shop', 'few-orders'), after: '{"test":true}' });
    for (let at = 1; at < 20; at++) await world.call('POST', `${ALERTS}/few-orders/test`, { body: {} });
    expect((await world.call('POST', `${ALERTS}/few-orders/test`, { body: {} })).body.error.code).toBe('limit_reached');
    world.clock.nowMs += 3_600_000;
    expect((await world.call('POST', `${ALERTS}/few-orders/test`, { body: {} })).status).toBe(200);
  });

  it('is of an alert that is there', async () => {
    expect((await world.call('POST', `${ALERTS}/none/test`, { body: {} })).body.error.code).toBe('alert_unknown');
  });
});
