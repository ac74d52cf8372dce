// Alerts of a site: their settings, how they are, what fired, and a test.

import {
  ALERTS_MAX,
  type Alert,
  type AlertInput,
  alertInput,
  alertProblems,
  alertSecretPlace,
  type ChannelInput,
  filledAlert,
  sealedAs,
  shownTarget,
  targetProblems,
  tellsAnew,
} from '#pipelines/alerts/alert.ts';
import { waitsUntil } from '#pipelines/alerts/figures.ts';
import { siteAlert } from '#pipelines/alerts/judge.ts';
import { testAlert } from '#pipelines/alerts/sends.ts';
import { allCohorts, cohortProblems, cohortsById, singlesOut } from '#pipelines/analytics/cohorts/cohort.ts';
import { withPhoneHmacs } from '#pipelines/analytics/query_rewrites.ts';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import { type Problem, unless } from '#pipelines/settings/problems.ts';
import { alertKey, type SettingsTable } from '#pipelines/settings/table.ts';
import type { AlertState, FiredAlert } from '#schemas/records.ts';
import type { AlertSetting } from '#schemas/setting.ts';
import * as api from '#services/control_api/alerts.ts';
import { closed } from '#services/control_api/fields.ts';
import { siteParams } from '#services/control_api/sites.ts';
import { metaOf } from '../changes.ts';
import { definitionRoutes } from '../definition_routes.ts';
import { inSite, type RequestContext, type Route, refused, refusedFor, resource, route } from '../route.ts';

const DEFINITION_CHARACTERS_MAX = 16_384;
/** Of a site in an hour: each is a message to somebody. */
const TESTS_MAX = 20;
const HOUR_MS = 3_600_000;
const ID_BYTES = 16;
const TAG = 'Alerts';

const definitionOf = ({ definition }: AlertSetting): Alert => JSON.parse(definition) as Alert;

/** Whether an alert has an address for a channel already, which stays where none is given. */
const isKept = (before: AlertSetting | null, { id, kind }: ChannelInput): boolean =>
  before !== null && definitionOf(before).channels.some((channel) => channel.id === id && channel.kind === kind);

const settingRoutes = definitionRoutes<AlertSetting>({
  tag: TAG,
  path: 'alerts',
  kind: 'alert',
  called: 'alert',
  says: {
    create: 'Add an alert to a site',
    created: 'The alert, with every default filled in',
    remove: 'Remove an alert; what it has not sent yet is not sent',
  },
  permissions: { read: 'query.aggregates', change: 'alerts.change' },
  input: alertInput,
  shape: api.alertItemShape,
  codes: { unknown: 'alert_unknown', exists: 'alert_exists' },
  max: ALERTS_MAX,
  itemsOf: (view, siteId) => [...view.table.alerts(siteId)],
  keyOf: alertKey,
  viewOf: (view, item): api.AlertItem => ({
    ...definitionOf(item),
    revision: item.version,
    ...metaOf(view, alertKey(item.site_id, item.id)),
  }),
  requiresReauthentication: (body) => tellsAnew((body as AlertInput).channels),
  read(body, before) {
    const input = body as AlertInput;
    const problems = alertProblems(input);
    if (problems.length > 0) return { ok: false, problems };
    const known = before === null ? [] : definitionOf(before).channels;
    const definition = filledAlert(input, ({ id, kind, target }) => {
      if (target !== undefined) return shownTarget(kind, target) ?? '';
      return known.find((channel) => channel.id === id)?.shown ?? '';
    });
    return { ok: true, definition };
  },
  write({ site_id, id, version, definition }, body, before, world) {
    const { channels } = body as AlertInput;
    const alert = JSON.parse(definition) as Alert;
    const { cohorts, unknown } = allCohorts(alert, cohortsById(world.view.table.cohorts(site_id)));
    if (unknown !== null) return refused('cohort_unknown');
    if (singlesOut(alert, cohorts) && !world.may('query.persons', { site: site_id })) {
      return refused('permission_missing');
    }
    const refusal = refusedFor([
      ...problemsOf(definition, channels, before, world),
      ...cohortProblems(alert, cohorts.values()),
    ]);
    if (refusal !== null) return refusal;
    // Settings are kept for long: no bare hash of a phone number is among them.
    const keyed = withPhoneHmacs(alert, (sha256) => world.phoneHmacs(site_id, sha256));
    const secrets = Object.fromEntries(channels.flatMap((channel) => sealedOf(site_id, id, channel, before, world)));
    const created_at = before?.created_at ?? world.nowMs;
    return { body: { alert: { site_id, id, version, definition: JSON.stringify(keyed), secrets, created_at } } };
  },
});

function problemsOf(
  definition: string,
  channels: readonly ChannelInput[],
  before: AlertSetting | null,
  world: RequestContext,
): Problem[] {
  const { name, question, events } = JSON.parse(definition) as Alert;
  return [
    ...unless(definition.length <= DEFINITION_CHARACTERS_MAX, 'too_large', 'alert', 'is more than 16 KiB of JSON'),
    ...unless(
      !holdsPersonalText(JSON.stringify([name, question, events])),
      'personal_text',
      'alert',
      'holds an e-mail address or a phone number',
    ),
    ...targetProblems(channels, (channel) => isKept(before, channel), world.isAddressAllowed),
  ];
}

/** What is kept of a channel: what is given, or else what there was. */
function sealedOf(
  siteId: string,
  alertId: string,
  channel: ChannelInput,
  before: AlertSetting | null,
  world: RequestContext,
): [name: string, sealed: string][] {
  return (['target', 'secret'] as const).flatMap((field) => {
    const name = sealedAs(channel.id, field);
    const given = channel[field];
    if (given !== undefined) return [[name, world.seal(alertSecretPlace(siteId, alertId, name), given)]];
    const kept = isKept(before, channel) ? before?.secrets[name] : undefined;
    return kept === undefined ? [] : [[name, kept]];
  });
}

function stateItem(state: AlertState, table: SettingsTable): api.AlertStateItem | [] {
  const { site_id, alert_id, status, since, value, base, from, to, problem, looked_at } = state;
  const one = siteAlert(table, site_id, alert_id);
  if (one === null) return [];
  const waits_until = waitsUntil(one.alert, state, one.calendar);
  return { alert_id, status, since, waits_until, value, base, from, to, problem, looked_at };
}

function firedItem({ site_id: _site, condition, sends, ...fired }: FiredAlert): api.FiredItem {
  const shown = sends.map(({ first_at: _first, ...send }) => send);
  return { ...fired, condition: JSON.parse(condition) as Record<string, unknown>, sends: shown };
}

/** Whether who asks may know what an alert of the site came to: one of single persons tells of them. */
function maySee({ view, may }: Pick<RequestContext, 'view' | 'may'>, siteId: string): (alertId: string) => boolean {
  const known = cohortsById(view.table.cohorts(siteId));
  const isOpen = may('query.persons', { site: siteId });
  return (alertId) => {
    const alert = isOpen ? null : siteAlert(view.table, siteId, alertId)?.alert;
    return alert === null || alert === undefined || !singlesOut(alert, allCohorts(alert, known).cohorts);
  };
}

const siteOf = <Item extends { site_id: string }>(all: ReadonlyMap<string, Item>, siteId: string): Item[] =>
  [...all.values()].filter(({ site_id }) => site_id === siteId);

const base = '/v1/admin/sites/{site_id}';

const logRoutes = resource(TAG, [
  route('GET', `${base}/alert-states`, 'listAlertStates', {
    access: inSite('query.aggregates'),
    summary: 'How the alerts of a site are, by their last figures',
    params: siteParams,
    success: { status: 200, schema: api.alertStatesShape, description: 'Of alerts that were looked at' },
    errors: ['site_unknown'],
    async gather({ params: { site_id } }, { alerts }, { view, may }) {
      if (view.table.site(site_id) === undefined) return refused('site_unknown');
      const isSeen = maySee({ view, may }, site_id);
      const seen = siteOf(alerts.all.states, site_id).filter(({ alert_id }) => isSeen(alert_id));
      const items = seen.flatMap((state) => stateItem(state, view.table));
      return { kind: 'answered', body: { items: items.sort((a, b) => (a.alert_id < b.alert_id ? -1 : 1)) } };
    },
  }),
  route('GET', `${base}/fired-alerts`, 'listFiredAlerts', {
    access: inSite('query.aggregates'),
    summary: 'What fired on a site, and who was told; kept for 90 days, the newest 200',
    params: siteParams,
    query: api.firedQuery,
    success: { status: 200, schema: api.firedListShape, description: 'What fired, recovered or was tested' },
    errors: ['site_unknown'],
    async gather({ params: { site_id }, query: { alert, limit = api.FIRED_ITEMS } }, { alerts }, { view, may }) {
      if (view.table.site(site_id) === undefined) return refused('site_unknown');
      const isSeen = maySee({ view, may }, site_id);
      const fired = siteOf(alerts.all.fired, site_id).filter(
        ({ alert_id }) => (alert ?? alert_id) === alert_id && isSeen(alert_id),
      );
      const newest = fired.sort((a, b) => b.at - a.at || (a.fired_id < b.fired_id ? -1 : 1)).slice(0, limit);
      return { kind: 'answered', body: { items: newest.map(firedItem) } };
    },
  }),
  route('POST', `${base}/alerts/{id}/test`, 'testAlert', {
    access: inSite('alerts.change'),
    summary: 'Have each channel of an alert told that it is a test, also in quiet hours',
    params: api.alertParams,
    body: closed({}),
    success: { status: 200, schema: api.firedShape, description: 'What is sent; listFiredAlerts says what came of it' },
    errors: ['site_unknown', 'alert_unknown', 'limit_reached', 'settings_not_stored'],
    async gather({ params: { site_id, id } }, { alerts, note }, before) {
      if (before.view.table.site(site_id) === undefined) return refused('site_unknown');
      if (siteAlert(before.view.table, site_id, id) === null) return refused('alert_unknown');
      const tests = siteOf(alerts.all.fired, site_id).filter(
        ({ is, at }) => is === 'test' && before.nowMs - at < HOUR_MS,
      );
      if (tests.length >= TESTS_MAX) return refused('limit_reached');
      const world = await note(alertKey(site_id, id), { test: true });
      if ('kind' in world) return world;
      const one = siteAlert(world.view.table, site_id, id);
      if (one === null) return refused('alert_unknown');
      const fired = testAlert(
        site_id,
        one.alert,
        Buffer.from(world.randomBytes(ID_BYTES)).toString('base64url'),
        world.nowMs,
      );
      await alerts.request(fired);
      return { kind: 'answered', body: firedItem(fired) };
    },
  }),
]);

export const alertRoutes: Route[] = [...settingRoutes, ...logRoutes];

const example: AlertInput = {
  id: 'few-orders',
  name: 'Few orders',
  kind: 'question',
  question: { series: [{ events: ['purchase'] }] },
  interval: 'day',
  condition: { is: 'fell', percent: 40, against: 'week', at_least: 20 },
  quiet_hours: { from: '22:00', to: '07:00' },
  channels: [
    { id: 'team', kind: 'email', target: 'team@shop.example' },
    { id: 'pager', kind: 'webhook', target: 'https://pager.example/hook' },
  ],
};

/** Bodies of the routes of alerts, as people would send them. */
export const ALERT_EXAMPLES: Readonly<Record<string, object>> = {
  createAlert: example,
  replaceAlert: { ...example, enabled: false },
  testAlert: {},
};
