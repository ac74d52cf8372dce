import type { Static } from 'typebox';
import type { RefusalRecord } from '#infra/redis/refusals.ts';
import { refusalCounts } from '#pipelines/refusals/refusal_counts.ts';
import type { RefusalSample } from '#pipelines/refusals/refusal_notes.ts';
import { keyIdOf } from '#pipelines/settings/keys.ts';
import type { ApiKey } from '#schemas/setting.ts';
import {
  type RefusalSampleItem,
  type RefusalsItem,
  refusalQuery,
  refusalsShape,
} from '#services/control_api/refusal_shapes.ts';
import { siteParams } from '#services/control_api/site_shapes.ts';
import { done, type GatheredAnswer, type Route, refused, route, type Sources, type World } from './route.ts';
import { inSite } from './route_access.ts';
import type { Input } from './route_input.ts';

const WEEK_MS = 7 * 86_400_000;

export const refusalRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/admin/sites/{site_id}/refusals',
    operationId: 'getRefusals',
    access: inSite('query.aggregates'),
    tag: 'Sites',
    summary:
      'What the edge did not accept of a site, by reason, with samples: events rejected or dropped, requests refused',
    params: siteParams,
    query: refusalQuery,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: refusalsShape, description: 'What was not accepted, by what the edges counted' },
    errors: ['site_unknown', 'refusals_unavailable'],
    run: () => done([], () => ({ body: {} })),
    gather: readRefusals,
  }),
];

async function readRefusals({ params, query }: Input, sources: Sources, world: World): Promise<GatheredAnswer> {
  const { site_id: siteId } = params as Static<typeof siteParams>;
  const { to = world.nowMs, from = Math.max(0, to - WEEK_MS), interval = 'day' } = query as Static<typeof refusalQuery>;
  // Of no other name, or Redis would be asked for names out of a request.
  if (world.view.table.site(siteId) === undefined) return refused('site_unknown');
  const record = await sources.readRefusals(siteId);
  if (record === null) return refused('refusals_unavailable');
  const body: RefusalsItem = {
    site_id: siteId,
    ...{ from, to, interval },
    known_since: record.sinceMs === null ? null : Math.max(record.sinceMs, world.nowMs - WEEK_MS),
    ...refusalCounts(record.hours, { from, to, interval }),
    samples: world.may('query.events', { site: siteId }) ? samplesOf(record, { from, to }, siteId, world) : null,
  };
  return { kind: 'answered', body };
}

function samplesOf(
  { samples }: RefusalRecord,
  { from, to }: { from: number; to: number },
  siteId: string,
  { view }: World,
): RefusalSampleItem[] {
  const keys = new Map([...view.table.keysOfSite(siteId).values()].map((key) => [keyIdOf(key.key_hash), key]));
  return samples.filter(({ atMs }) => atMs >= from && atMs < to).map((sample) => sampleItem(sample, keys));
}

function sampleItem(
  { atMs, keyId, kind, code, event, index, fields, caller }: RefusalSample,
  keys: ReadonlyMap<string, ApiKey>,
): RefusalSampleItem {
  const key = keyId === null ? undefined : keys.get(keyId);
  const shown = { shown_prefix: key?.shown_prefix ?? null, label: key?.label ?? null };
  const known = keyId === null ? null : { key_id: keyId, ...shown };
  return { at: atMs, kind, code, event, index, fields: [...fields], caller, key: known };
}
