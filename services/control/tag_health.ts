import type { TagRecord } from '#infra/redis/tag_health.ts';
import { type EventDefinition, parseEventDefinition } from '#pipelines/settings/event_definitions.ts';
import { definitionState } from '#pipelines/tag_health/judge_definition.ts';
import { siteVolume } from '#pipelines/tag_health/judge_site.ts';
import { HOUR_MS } from '#pipelines/tag_health/notes.ts';
import type { Site } from '#schemas/setting.ts';
import { nothing } from '#services/control_api/fields.ts';
import { siteParams } from '#services/control_api/site_shapes.ts';
import { type DefinitionHealth, type TagHealthItem, tagHealthShape } from '#services/control_api/tag_health_shapes.ts';
import { done, type Route, refused, route } from './route.ts';
import { inSite } from './route_access.ts';

export const tagHealthRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/admin/sites/{site_id}/tag-health',
    operationId: 'getTagHealth',
    access: inSite('site.read'),
    tag: 'Sites',
    summary: "How a site's tag does: what pages sent events, how many against the usual, and which definitions fire",
    params: siteParams,
    query: nothing,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: tagHealthShape, description: 'How it does, by what the edges counted' },
    errors: ['site_unknown', 'tag_health_unavailable'],
    showsTagHealth: true,
    run({ params: { site_id } }, { view, tagRecord, nowMs }) {
      const site = view.table.site(site_id);
      if (site === undefined) return refused('site_unknown');
      if (tagRecord === null) return refused('tag_health_unavailable');
      return done([], () => ({ body: tagHealth(site, tagRecord, nowMs) }));
    },
  }),
];

function tagHealth(site: Site, record: TagRecord, nowMs: number): TagHealthItem {
  const { state, lastHour, lastDay } = siteVolume(record.hours, nowMs);
  const reported = (name: keyof TagHealthItem['reported']): number => record.reported.get(name) ?? 0;
  return {
    site_id: site.site_id,
    state,
    last_event_at: record.lastMs,
    known_since: record.hours.size === 0 ? null : Math.min(...record.hours.keys()) * HOUR_MS,
    last_hour: lastHour,
    last_day: lastDay,
    pages: record.pages.map(([page, last_event_at]) => ({ page, last_event_at })),
    definitions: enabledDefinitions(site).map((definition) => definitionHealth(definition, record, nowMs)),
    reported: {
      retried: reported('retried'),
      dropped: reported('dropped'),
      rejected: reported('rejected'),
      blocked: reported('blocked'),
    },
  };
}

function enabledDefinitions({ event_definitions }: Site): EventDefinition[] {
  const read = event_definitions.map(parseEventDefinition);
  return read.flatMap((one) => (one.ok && one.definition.enabled ? [one.definition] : []));
}

function definitionHealth({ id, name }: EventDefinition, { fired }: TagRecord, nowMs: number): DefinitionHealth {
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
