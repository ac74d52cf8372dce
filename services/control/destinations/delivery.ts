// How delivery to a destination does: its health, the newest attempts, and a test event.

import { setImmediate } from 'node:timers/promises';
import { type Static, Type } from 'typebox';
import { ALL_SITES } from '#infra/clickhouse/queries/running_queries.ts';
import type { Egress } from '#infra/egress/send.ts';
import { type KeyRing, openDestinationSecrets } from '#infra/secrets/seal.ts';
import {
  type HealthRow,
  healthState,
  healthStatement,
  newestAttemptsStatement,
} from '#pipelines/analytics/delivery_outcomes.ts';
import type { AttemptRow } from '#pipelines/analytics/event_trace/trace.ts';
import { type PreviewRow, previewOf, previewStatement } from '#pipelines/analytics/rule_preview.ts';
import { createRejectionTracker } from '#pipelines/delivery/breaker.ts';
import { createSiteConcurrencyLimiter } from '#pipelines/delivery/concurrency.ts';
import type { Adapter, EntryOutcome } from '#pipelines/delivery/contract.ts';
import { deliver, TEST_SETTING, testEntry } from '#pipelines/delivery/deliver.ts';
import { createTokens } from '#pipelines/delivery/delivery_run.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { RETRY_AGE_MAX_MS } from '#pipelines/delivery/retry_topics.ts';
import { destinationKey } from '#pipelines/settings/table.ts';
import { ruleProblems } from '#pipelines/settings/validate.ts';
import type { EventEntry } from '#schemas/event.ts';
import type { Destination, Site } from '#schemas/setting.ts';
import * as api from '#services/control_api/destinations.ts';
import { timeField } from '#services/control_api/fields.ts';
import type { ControlErrorCode } from '../errors.ts';
import {
  type ControlServices,
  type GatheredAnswer,
  type Input,
  inSite,
  ofListed,
  type RequestContext,
  refused,
  resource,
  route,
  rowsOf,
} from '../route.ts';
import { rulesOf } from './routes.ts';

const DAY_MS = 86_400_000;
/** Answers are shared for this long. */
const HEALTH_KEPT_MS = 1_000;

export const deliveryRoutes = resource('Destinations', [
  route('GET', '/v1/admin/delivery-health', 'getDeliveryHealth', {
    access: ofListed('destinations.read'),
    summary: 'How each destination of each site has done in the last 24 hours, by its outcomes in ClickHouse',
    query: api.healthQuery,
    success: {
      status: 200,
      schema: Type.Object({ items: Type.Array(api.healthShape), as_of: timeField('When ClickHouse was queried') }),
      description: 'Destinations of which there are outcomes',
    },
    prepare({ query }, { nowMs, may, principal }) {
      const { site_id = null, destination = null } = query;
      // Rows of all sites are one question, which those who see all of them and those who see some ask alike.
      const isWhole = site_id !== null || may('destinations.read', 'installation');
      // In steps, so that equal questions of one second share an answer.
      const sinceMs = Math.floor((nowMs - DAY_MS) / HEALTH_KEPT_MS) * HEALTH_KEPT_MS;
      return {
        kind: 'query',
        siteId: site_id ?? ALL_SITES,
        about: 'delivery-health',
        reads: null,
        isShared: true,
        asked: isWhole ? query : { by: principal.actor },
        statement: healthStatement({
          sinceMs,
          waitingSinceMs: sinceMs - RETRY_AGE_MAX_MS,
          siteId: site_id,
          destination,
        }),
        cacheTtlMs: isWhole ? HEALTH_KEPT_MS : 0,
        answer: (rows) => ({
          items: (rows as HealthRow[])
            .filter((row) => isWhole || may('destinations.read', { site: row.site_id }))
            .map(healthItem),
        }),
      };
    },
  }),
  route('GET', '/v1/admin/sites/{site_id}/destinations/{name}/attempts', 'listAttempts', {
    access: inSite('destinations.read'),
    summary: 'The newest attempts to deliver to a destination, with what the platform answered',
    params: api.destinationParams,
    query: api.attemptsQuery,
    success: { status: 200, schema: api.attemptsShape, description: 'Attempts of the last 30 days' },
    errors: ['site_unknown'],
    prepare({ params: { site_id: siteId, name: destination }, query }, { nowMs, view }) {
      const { outcome = null, limit = ATTEMPTS_LIMIT } = query;
      if (view.table.site(siteId) === undefined) return refused('site_unknown');
      // In steps, so that equal questions of one second share an answer.
      const sinceMs = Math.floor((nowMs - ATTEMPTS_SINCE_MS) / ATTEMPTS_KEPT_MS) * ATTEMPTS_KEPT_MS;
      return {
        kind: 'query',
        siteId,
        about: 'attempts',
        reads: null,
        isShared: false,
        asked: { destination, outcome, limit },
        statement: newestAttemptsStatement({ siteId, destination, outcome, sinceMs, limit }),
        cacheTtlMs: ATTEMPTS_KEPT_MS,
        answer: (rows) => ({ items: (rows as NewestAttemptRow[]).map(attemptItem) }),
      };
    },
  }),
  route('POST', '/v1/admin/sites/{site_id}/destinations/{name}/test', 'testDestination', {
    access: inSite('destinations.change'),
    summary: 'Send one event that is marked as a test, as delivery would, and show what the platform answered',
    params: api.destinationParams,
    body: api.testBody,
    success: { status: 200, schema: api.testShape, description: 'What became of it; it is stored nowhere else' },
    errors: ['site_unknown', 'destination_unknown', 'settings_not_stored'],
    gather: sendTestEvent,
  }),
  route('POST', '/v1/admin/sites/{site_id}/destinations/{name}/rules/preview', 'previewRules', {
    access: inSite('destinations.read'),
    summary:
      "What rules, those given or the destination's own, would make of the site's newest events, of those up to 32 kB; nothing is sent",
    params: api.destinationParams,
    body: api.previewBody,
    success: { status: 200, schema: api.previewAnswer, description: 'Events, the newest first' },
    errors: ['site_unknown', 'destination_unknown', 'query_unavailable'],
    gather: previewRules,
  }),
]);

function healthItem(row: HealthRow): api.HealthItem {
  const { latest: _latest, latest_reason, took_ms, age_ms, delivered_at, failed_at, ...counts } = row;
  const state = healthState(row);
  return {
    ...counts,
    state,
    reason: state === 'delivering' ? '' : latest_reason,
    delivered_at: delivered_at === 0 ? null : delivered_at,
    failed_at: failed_at === 0 ? null : failed_at,
    took_ms: { p50: took_ms[0], p99: took_ms[1] },
    age_ms: { p50: age_ms[0], p99: age_ms[1] },
  };
}

const ATTEMPTS_KEPT_MS = 1_000;
const ATTEMPTS_SINCE_MS = 30 * 86_400_000;
const ATTEMPTS_LIMIT = 50;

interface NewestAttemptRow extends Omit<AttemptRow, 'destination' | 'received'> {
  event_id: string;
  event: string;
}

/** An attempt as it is answered. */
export function attemptItem({ attempted, answer_status, answer, outcome, ...row }: NewestAttemptRow): api.AttemptItem {
  return {
    ...row,
    attempted_at: attempted,
    outcome: outcome as api.AttemptItem['outcome'],
    answer: answer_status === 0 ? null : { status: answer_status, body: answer },
  };
}

const PREVIEWED = 20;
const HOUR_MS = 3_600_000;
/** Where the last hour has too few events these are looked at too: then there are not many. */
const PREVIEW_SINCE_MS = 7 * DAY_MS;

async function previewRules(
  { params, body }: Input<Static<typeof api.destinationParams>, unknown, Static<typeof api.previewBody>>,
  sources: ControlServices,
  world: RequestContext,
): Promise<GatheredAnswer> {
  const { site_id: siteId, name } = params;
  const { limit = PREVIEWED } = body;
  if (world.view.table.site(siteId) === undefined) return refused('site_unknown');
  const previewed = toTest(siteId, name, world);
  if (previewed === null) return refused('destination_unknown');
  const { site, destination, adapter } = previewed;
  const rules = body.rules === undefined ? (destination.rules ?? []) : rulesOf(body.rules);
  const problems = ruleProblems(rules);
  if (problems.length > 0) return refused('settings_invalid', problems);
  const newest = (agoMs: number): Promise<PreviewRow[] | ControlErrorCode> => {
    const sinceMs = world.nowMs - agoMs;
    const statement = previewStatement(siteId, sinceMs, limit);
    return rowsOf(sources, {
      siteId,
      about: 'rules',
      asked: { sinceMs, limit },
      statement,
      cacheTtlMs: 0,
      // Megabytes of what persons did.
      isKept: false,
    });
  };
  const recent = await newest(HOUR_MS);
  const rows = typeof recent === 'string' || recent.length >= limit ? recent : await newest(PREVIEW_SINCE_MS);
  if (typeof rows === 'string') return refused(rows);
  const target = { adapter, id: name, settings: destination.settings, rules };
  const items: ReturnType<typeof previewOf>[] = [];
  for (const row of rows) {
    items.push(previewOf(target, site, row, world.nowMs));
    await setImmediate();
  }
  return { kind: 'answered', body: { items } };
}

const EVENT = 'page_view';
const ID_BYTES = 8;

async function sendTestEvent(
  { params, body }: Input<Static<typeof api.destinationParams>, unknown, Static<typeof api.testBody>>,
  { sendTest, note }: ControlServices,
  before: RequestContext,
): Promise<GatheredAnswer> {
  const { site_id: siteId, name } = params;
  const { event = EVENT, test_event_code: code } = body;
  if (before.view.table.site(siteId) === undefined) return refused('site_unknown');
  if (toTest(siteId, name, before) === null) return refused('destination_unknown');
  const world = await note(destinationKey(siteId, name), { test: event });
  if ('kind' in world) return world;
  const tested = toTest(siteId, name, world);
  if (tested === null) return refused('destination_unknown');
  const { site, destination, adapter } = tested;
  const takesCode = TEST_SETTING in adapter.schema.properties;
  const settings = { ...destination.settings, ...(takesCode && code !== undefined && { [TEST_SETTING]: code }) };
  const eventId = `test-${Buffer.from(world.randomBytes(ID_BYTES)).toString('hex')}`;
  const entry = testEntry({ siteId, eventId, name: event, nowMs: world.nowMs });
  const sent = await sendTest({ adapter, site, destination: { ...destination, settings }, entry });
  const { outcome, reason, detail, tookMs, answer = null } = sent;
  const as_test = (settings[TEST_SETTING] ?? '') !== '';
  const took_ms = Math.round(tookMs);
  const shown: api.TestAnswer = { event_id: eventId, event, outcome, reason, detail, took_ms, as_test, answer };
  return { kind: 'answered', body: shown };
}

/** What a test event is sent with, as the settings are; null where there is no such destination. */
function toTest(siteId: string, name: string, { view: { table }, adapters }: RequestContext) {
  const [site, destination] = [table.site(siteId), table.destination(siteId, name)];
  const adapter = adapters.find((one) => one.name === kindOfDestination(name));
  return site === undefined || destination === undefined || adapter === undefined
    ? null
    : { site, destination, adapter };
}

/** One event for one destination, by the settings it has now. */
export interface TestSend {
  adapter: Adapter;
  site: Site;
  destination: Destination;
  entry: EventEntry;
}

/** Sends an event as delivery would, once, and answers what came of it. Nothing else learns of it. */
export type SendTest = (test: TestSend) => Promise<EntryOutcome>;

interface TestSenderOptions {
  ring: KeyRing;
  egress: Pick<Egress, 'send'>;
  /** Another address than the platform's own, as delivery was given one, by the destination's name; null: there is none. */
  baseUrls: Readonly<Record<string, string | null>>;
  /** Milliseconds since 1970 UTC. */
  nowMs(): number;
  monotonicMs(): number;
}

/** What one call needs that many have in common in delivery: fresh each time, so that it depends on nothing before it. */
function portsOf({ egress, nowMs, monotonicMs }: TestSenderOptions, siteId: string): Parameters<typeof deliver>[1] {
  return {
    ...{ send: egress.send, nowMs, monotonicMs },
    breaker: { ask: () => ({ kind: 'go' }), report: () => undefined },
    rejections: createRejectionTracker(1, monotonicMs).of(siteId),
    turns: createSiteConcurrencyLimiter(1),
    tokens: createTokens(1),
    stopping: () => false,
    answered: () => undefined,
    onPartialSuccess: () => undefined,
  };
}

export function createTestSender(options: TestSenderOptions): SendTest {
  const { ring, baseUrls, nowMs } = options;
  return async ({ adapter, site, destination, entry }) => {
    const job = {
      ...{
        adapter,
        destination: destination.name,
        rules: destination.rules ?? [],
        site,
        settings: destination.settings,
        secrets: openDestinationSecrets(ring, destination),
      },
      ...{ baseUrl: baseUrls[adapter.name] ?? null, entries: [entry], attempt: 1, nowMs: nowMs() },
    };
    const [outcome] = await deliver(job, portsOf(options, site.site_id));
    if (outcome === undefined) throw new Error('an event without an outcome');
    return outcome;
  };
}
