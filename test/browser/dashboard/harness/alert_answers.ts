import type { AlertItem, AlertStateItem, FiredItem } from '#services/control_api/alerts.ts';
import { CANARY } from './operations_answers.ts';
import type { StubApi } from './stub_api.ts';

const META = { version: 'v1', changed_at: 1_700_000_000_000, changed_by: 'ana', revision: 1 };
const AT_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;

const FEW_ORDERS: AlertItem = {
  ...{ id: 'few-orders', name: 'Few orders', enabled: true, kind: 'question', interval: 'day' },
  question: { series: [{ events: ['purchase'] }] },
  condition: { is: 'fell', percent: 40, against: 'week' },
  ...{ grace_minutes: 10, recover_after: 1, notify_recovery: false, quiet_hours: null },
  channels: [
    { id: 'team', kind: 'email', shown: '***@shop.example' },
    { id: 'pager', kind: 'webhook', shown: 'pager.example' },
  ],
  ...META,
};
const USED: AlertItem = {
  ...{ id: 'used', name: CANARY, enabled: false, kind: 'allowance', condition: { is: 'above', value: 80 } },
  ...{ grace_minutes: 10, recover_after: 1, notify_recovery: true, quiet_hours: { from: '22:00', to: '07:00' } },
  channels: [{ id: 'chat', kind: 'slack', shown: 'hooks.slack.com' }],
  ...META,
};

const STATE: AlertStateItem = {
  ...{ alert_id: 'few-orders', status: 'firing', since: AT_MS, waits_until: null, value: 12, base: 31 },
  ...{ from: AT_MS - DAY_MS, to: AT_MS, problem: '', looked_at: AT_MS },
};

const SEND = { attempts: 1, due_at: AT_MS, done_at: AT_MS, reason: '', is_repeated: false } as const;

const FIRED: FiredItem = {
  ...{ fired_id: 'f1', alert_id: 'few-orders', name: 'Few orders', kind: 'question', is: 'fired', at: AT_MS },
  ...{ from: AT_MS - DAY_MS, to: AT_MS, value: 12, base: 31, interval: 'day', detail: '' },
  condition: { is: 'fell', percent: 40, against: 'week' },
  sends: [
    { ...SEND, channel: 'team', kind: 'email', shown: '***@shop.example', state: 'sent', is_repeated: true },
    {
      ...{ ...SEND, channel: 'pager', kind: 'webhook', shown: 'pager.example', state: 'given_up', reason: 'http_500' },
      attempts: 42,
    },
  ],
};

/** Alerts of a shop, of which one fires and one is paused, and what they sent; what is written is kept. */
export function withAlerts(api: StubApi): StubApi {
  const items = [structuredClone(FEW_ORDERS), structuredClone(USED)];
  const fired = [FIRED];
  const shown = (body: object): AlertItem => {
    const { channels, ...alert } = body as AlertItem;
    return {
      ...alert,
      ...META,
      version: 'v2',
      channels: channels.map(({ id, kind }) => ({ id, kind, shown: 'kept.example' })),
    };
  };
  return api
    .on('GET', '/v1/admin/sites/shop/alerts', () => ({ items, next: null }))
    .on('GET', '/v1/admin/sites/shop/alert-states', { items: [STATE] })
    .on('GET', '/v1/admin/sites/shop/fired-alerts', () => ({ items: fired }))
    .on('GET', '/v1/admin/sites/shop/questions', {
      items: [
        {
          ...{ id: 'sales', name: 'Sales', query: 'trends', owner: 'ana', ...META },
          question: { from: 0, to: 1, interval: 'day', series: [{ events: ['purchase'], sum: { column: 'value' } }] },
        },
      ],
      next: null,
    })
    .on('POST', '/v1/admin/sites/shop/alerts', (body) => {
      const made = shown(body ?? {});
      items.push(made);
      return { status: 201, body: made };
    })
    .on('PUT', /\/alerts\/[\w-]+$/, (body) => {
      const changed = shown(body ?? {});
      items.splice(
        items.findIndex(({ id }) => id === changed.id),
        1,
        changed,
      );
      return changed;
    })
    .on('DELETE', /\/alerts\/[\w-]+$/, (_body, { pathname }) => {
      const [gone = FEW_ORDERS] = items.splice(
        items.findIndex(({ id }) => pathname.endsWith(`/${id}`)),
        1,
      );
      return gone;
    })
    .on('POST', /\/alerts\/[\w-]+\/test$/, () => {
      const test: FiredItem = { ...FIRED, fired_id: 'f2', is: 'test', value: null, base: null, from: null, to: null };
      fired.unshift({
        ...test,
        sends: [{ ...SEND, channel: 'team', kind: 'email', shown: '***@shop.example', state: 'due' }],
      });
      return test;
    });
}
