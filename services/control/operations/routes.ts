// How the installation is doing: stages, running queries, a site's tag and what was not accepted of it.

import { type Static, Type } from 'typebox';
import { ALL_SITES, type RunningQuery } from '#infra/clickhouse/queries/running_queries.ts';
import { readStages, type StageReading, type StageWatchOptions } from '#infra/kafka/consumer/lag_watch.ts';
import { lagOf } from '#infra/kafka/consumer/waiting_times.ts';
import type { RejectionRecord, TagRecord } from '#infra/redis/edge_reports.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { isRetryTopic } from '#pipelines/delivery/retry_topics.ts';
import { type RejectionSample, rejectionCounts } from '#pipelines/ingestion_warnings/warnings.ts';
import { keyIdOf } from '#pipelines/settings/callers.ts';
import { definitionsOf, type EventDefinition } from '#pipelines/settings/event_definitions.ts';
import { kept, rateBetween, type StageMoment } from '#pipelines/stage.ts';
import { definitionState, HOUR_MS, siteVolume } from '#pipelines/tag/tag_health.ts';
import type { ApiKey, Site } from '#schemas/setting.ts';
import { closed, idField } from '#services/control_api/fields.ts';
import type { StageItem } from '#services/control_api/operations.ts';
import * as api from '#services/control_api/operations.ts';
import { siteParams } from '#services/control_api/sites.ts';
import {
  type ControlServices,
  type GatheredAnswer,
  type Input,
  inAll,
  inSite,
  ofListed,
  type RequestContext,
  refused,
  resource,
  route,
} from '../route.ts';

const STAGES = ['dedup', 'quota', 'identity', 'warehouse'] as const;

/** Said with every answer: silence about a part must not look as if it were well. */
const NOT_SEEN = [
  'edge: how many requests it takes and refuses is in its /metrics',
  "each process's memory, restarts and errors are in its /metrics and its log",
];

export const stageRoutes = resource('Operations', [
  route('GET', '/v1/admin/stages', 'listStages', {
    access: inAll('replays.read'),
    summary: 'How far each stage is: what it has still to take, how old that is, how quickly it takes it',
    success: {
      status: 200,
      schema: api.stagesShape,
      description: 'The stages, in the order in which events go through them',
    },
    errors: ['stages_unavailable'],
    async gather(_input, { stages }, { view, nowMs }) {
      const enabled = view.table.destinations().filter((one) => one.enabled);
      const deliveries = [...new Set(enabled.map(({ name }) => `delivery.${kindOfDestination(name)}`))].sort();
      const items = await stages.read([...STAGES, ...deliveries]);
      const body: api.StagesAnswer = { items, as_of: nowMs, not_seen: NOT_SEEN };
      return { kind: 'answered', body };
    },
  }),
]);

const runningPath = '/v1/admin/queries';
type RunningParams = Static<typeof api.runningQueryParams>;
const listQuery = closed({ site_id: Type.Optional(idField('Only queries about this site')) });

export const runningRoutes = resource('Queries', [
  route('GET', runningPath, 'listRunningQueries', {
    access: ofListed('queries.manage'),
    summary: 'The queries that ClickHouse is at work on: whose they are, for how long, and what they take',
    query: listQuery,
    success: { status: 200, schema: api.runningQueriesShape, description: 'Queries of every control service' },
    errors: ['query_unavailable'],
    async gather({ query: { site_id: siteId } }, { running }, world) {
      const found = (await running.list())
        .filter((one) => siteId === undefined || one.siteId === siteId)
        .filter((one) => isManagedQuery(one, world));
      return { kind: 'answered', body: { items: found.map(runningItem), as_of: world.nowMs } };
    },
  }),
  route('DELETE', `${runningPath}/{id}`, 'cancelQuery', {
    access: ofListed('queries.manage'),
    summary: 'Cancel a running query; its caller gets query_cancelled',
    params: api.runningQueryParams,
    success: { status: 200, schema: api.runningQueryShape, description: 'The query, as it was when it was ended' },
    errors: ['query_unknown', 'query_unavailable', 'settings_not_stored'],
    async gather({ params }, { running, note }, before) {
      const found = await managedQuery(running, params as RunningParams, before);
      if (found === undefined) return refused('query_unknown');
      const world = await note('queries', { cancel: found.id });
      if ('kind' in world) return world;
      const cancelled = isManagedQuery(found, world) ? await running.cancel(found.id) : null;
      return cancelled === null ? refused('query_unknown') : { kind: 'answered', body: runningItem(cancelled) };
    },
  }),
]);

/** The query of that id; what is of others is as what is not there. */
async function managedQuery(
  running: ControlServices['running'],
  { id }: RunningParams,
  world: RequestContext,
): Promise<RunningQuery | undefined> {
  return (await running.list()).find((one) => one.id === id && isManagedQuery(one, world));
}

/** A query about all sites is the installation's. */
function isManagedQuery({ siteId }: RunningQuery, { may }: RequestContext): boolean {
  return may('queries.manage', siteId === ALL_SITES ? 'installation' : { site: siteId });
}

function runningItem({
  id,
  siteId,
  kind,
  askedBy,
  runningMs,
  rowsRead,
  memoryBytes,
}: RunningQuery): api.RunningQueryItem {
  const figures = { running_ms: runningMs, rows_read: rowsRead, memory_bytes: memoryBytes };
  return { id, site_id: siteId === ALL_SITES ? null : siteId, kind, asked_by: askedBy, ...figures };
}

export const siteHealthRoutes = resource('Sites', [
  route('GET', '/v1/admin/sites/{site_id}/tag-health', 'getTagHealth', {
    access: inSite('site.read'),
    summary: "How a site's tag does: what pages sent events, how many against the usual, and which definitions fire",
    params: siteParams,
    success: { status: 200, schema: api.tagHealthShape, description: 'How it does, by what the edges counted' },
    errors: ['site_unknown', 'tag_health_unavailable'],
    async gather({ params: { site_id } }, { readTagRecord }, { view, nowMs, may }) {
      const site = view.table.site(site_id);
      // Of no other name, or Redis would be asked for names out of a request.
      if (site === undefined) return refused('site_unknown');
      const record = await readTagRecord(site_id);
      const pages = may('query.events', { site: site_id }) ? record.pages : commonPages(record.pages);
      return { kind: 'answered', body: tagHealth(site, { ...record, pages }, nowMs) };
    },
  }),
  route('GET', '/v1/admin/sites/{site_id}/refusals', 'getRefusals', {
    access: inSite('query.aggregates'),
    summary:
      'What the edge did not accept of a site, by reason, with samples: events rejected or dropped, requests refused',
    params: siteParams,
    query: api.rejectionQuery,
    success: {
      status: 200,
      schema: api.rejectionsShape,
      description: 'What was not accepted, by what the edges counted',
    },
    errors: ['site_unknown', 'refusals_unavailable'],
    gather: readSiteRejections,
  }),
]);

/** A part of a path that may be of one visitor: an order's number, or a token. */
const MAY_BE_ONES = /\p{Nd}|.{33,}/u;

/** Pages for who may not see single events: of those that only some visitors have been on what they have in common. */
function commonPages(pages: TagRecord['pages']): [page: string, lastMs: number][] {
  const seen = new Map<string, number>();
  for (const [page, lastMs] of pages) {
    const [host = '', ...parts] = page.split('/');
    const common = [host, ...parts.map((part) => (MAY_BE_ONES.test(part) ? ':id' : part))].join('/');
    seen.set(common, Math.max(lastMs, seen.get(common) ?? 0));
  }
  return [...seen];
}

function tagHealth(site: Site, record: TagRecord, nowMs: number): api.TagHealthItem {
  const { state, lastHour, lastDay } = siteVolume(record.hours, nowMs);
  const reported = (name: keyof api.TagHealthItem['reported']): number => record.reported.get(name) ?? 0;
  return {
    site_id: site.site_id,
    state,
    last_event_at: record.lastMs,
    known_since: record.hours.size === 0 ? null : Math.min(...record.hours.keys()) * HOUR_MS,
    last_hour: lastHour,
    last_day: lastDay,
    pages: record.pages.map(([page, last_event_at]) => ({ page, last_event_at })),
    definitions: definitionsOf(site)
      .filter(({ enabled }) => enabled)
      .map((definition) => definitionHealth(definition, record, nowMs)),
    reported: {
      retried: reported('retried'),
      dropped: reported('dropped'),
      rejected: reported('rejected'),
      blocked: reported('blocked'),
    },
  };
}

function definitionHealth({ id, name }: EventDefinition, { fired }: TagRecord, nowMs: number): api.DefinitionHealth {
  const known = fired.get(id);
  return {
    id,
    name,
    state: definitionState(known, nowMs),
    fired: known?.count ?? 0,
    last_fired_at: known?.lastMs ?? null,
    usual_gap_ms: known === undefined || known.count < 2 ? null : known.gapMs,
  };
}

const WEEK_MS = 7 * 86_400_000;

async function readSiteRejections(
  { params: { site_id: siteId }, query }: Input<Static<typeof siteParams>, Static<typeof api.rejectionQuery>>,
  sources: ControlServices,
  world: RequestContext,
): Promise<GatheredAnswer> {
  const { to = world.nowMs, from = Math.max(0, to - WEEK_MS), interval = 'day' } = query;
  // Of no other name, or Redis would be asked for names out of a request.
  if (world.view.table.site(siteId) === undefined) return refused('site_unknown');
  const record = await sources.readSiteRejections(siteId);
  if (record === null) return refused('refusals_unavailable');
  const body: api.RejectionsItem = {
    site_id: siteId,
    ...{ from, to, interval },
    known_since: record.sinceMs === null ? null : Math.max(record.sinceMs, world.nowMs - WEEK_MS),
    ...rejectionCounts(record.hours, { from, to, interval }),
    samples: world.may('query.events', { site: siteId }) ? samplesOf(record, { from, to }, siteId, world) : null,
  };
  return { kind: 'answered', body };
}

function samplesOf(
  { samples }: RejectionRecord,
  { from, to }: { from: number; to: number },
  siteId: string,
  { view }: RequestContext,
): api.RejectionSampleItem[] {
  const keys = new Map([...view.table.keysOfSite(siteId).values()].map((key) => [keyIdOf(key.key_hash), key]));
  return samples.filter(({ atMs }) => atMs >= from && atMs < to).map((sample) => sampleItem(sample, keys));
}

function sampleItem(
  { atMs, keyId, kind, code, event, index, fields, caller }: RejectionSample,
  keys: ReadonlyMap<string, ApiKey>,
): api.RejectionSampleItem {
  const key = keyId === null ? undefined : keys.get(keyId);
  const shown = { shown_prefix: key?.shown_prefix ?? null, label: key?.label ?? null };
  const known = keyId === null ? null : { key_id: keyId, ...shown };
  return { at: atMs, kind, code, event, index, fields: [...fields], caller, key: known };
}

/** Kafka did not answer. */
class StagesError extends Error {
  readonly code = 'stages_unavailable';
}

/** How far the stages are, as Kafka has it. */
export interface StageView {
  /** @throws StagesError */
  read(stages: readonly string[]): Promise<StageItem[]>;
}

/** Everybody who looks within this time sees the same, so that Kafka is asked no more by many than by one. */
const SHARED_MS = 2_000;

export function createStageView(options: StageWatchOptions): StageView {
  const { nowMs } = options;
  const moments = new Map<string, StageMoment>();
  let shared: { key: string; atMs: number; items: Promise<StageItem[]> } | null = null;

  function itemOf(reading: StageReading): StageItem {
    const { stage, consumers, positions, waitsMs } = reading;
    const now = { atMs: nowMs(), taken: takenOf(reading) };
    const before = moments.get(stage) ?? null;
    moments.set(stage, kept(before, now));
    const own = positions.filter(({ topic }) => !isRetryTopic(topic));
    const retryTopics = positions.filter(({ topic }) => isRetryTopic(topic));
    const ages = [...waitsMs.values()];
    return {
      ...{ stage, consumers, lag: own.length === 0 ? null : sum(own), on_lanes: sum(retryTopics) },
      waits_longer_than_ms: ages.length === 0 ? null : Math.max(...ages),
      rate: rateBetween(before, now),
    };
  }

  async function ask(stages: readonly string[]): Promise<StageItem[]> {
    try {
      return (await readStages(options, stages, (topic) => !isRetryTopic(topic))).map(itemOf);
    } catch (error) {
      const passes = error instanceof Error && error.name.startsWith('KafkaJS');
      throw passes ? new StagesError('Kafka cannot be asked', { cause: error }) : error;
    }
  }

  return {
    read(stages) {
      const key = stages.join();
      if (shared === null || shared.key !== key || Math.abs(nowMs() - shared.atMs) >= SHARED_MS) {
        shared = { key, atMs: nowMs(), items: ask(stages) };
      }
      return shared.items;
    },
  };
}

const sum = (positions: StageReading['positions']): number =>
  positions.reduce((records, position) => records + lagOf(position).records, 0);

const takenOf = ({ positions }: StageReading): Map<string, number> =>
  new Map(positions.map(({ topic, partition, committed }) => [`${topic} ${partition}`, committed ?? 0]));
