import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { EventDefinition } from '#pipelines/settings/event_definitions.ts';
import type { DestinationItem } from '#services/control_api/destinations.ts';
import type { DefinitionHealth, TagHealthItem } from '#services/control_api/operations.ts';
import { listAll, request } from '../../api/request.ts';
import { askedWhere, useQuery } from '../../api/use_answer.ts';
import { ago, dateTime, number, span } from '../../format.ts';
import type { PageProps } from '../../page_spec.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { type Column, DataTable, stateColumn } from '../../ui/data_table.tsx';
import { type BadgeKind, Empty, FailureNote, Panel, Shown } from '../../ui/panel.tsx';
import { DefinitionDialog } from './definition_dialog.tsx';
import { triggerOf } from './definition_form.ts';

const HEALTH_EVERY_MS = 30_000;

interface Row {
  definition: EventDefinition;
  health: DefinitionHealth | null;
}

/** What the tag watches for on the pages of a site, when each fired last, and which have stopped. */
export default function DefinitionsPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const base = `/v1/admin/sites/${encodeURIComponent(siteId)}`;
  const asked = useQuery(siteId, (signal) =>
    request<{ items: EventDefinition[] }>('GET', `${base}/event-definitions`, { signal }),
  );
  const health = useQuery(
    siteId,
    (signal) => request<TagHealthItem>('GET', `${base}/tag-health`, { signal }),
    HEALTH_EVERY_MS,
  );
  const seesDestinations = mayAt('destinations.read', siteId);
  const destinations = useQuery(
    `${siteId} ${seesDestinations}`,
    askedWhere(seesDestinations, (signal) =>
      listAll<DestinationItem>('/v1/admin/destinations', { site_id: siteId }, 1_000, signal),
    ),
  );
  const rows = useMemo(() => rowsOf(asked.value?.items ?? [], health.value), [asked.value, health.value]);
  const chosen = currentLocation.value.query.get('definition');
  const definition = asked.value?.items.find(({ id }) => id === chosen) ?? null;
  return (
    <div class="stack">
      {health.failure !== null && <FailureNote failure={health.failure} again={health.again} />}
      <Panel
        title="Event definitions"
        actions={
          mayAt('definitions.change', siteId) && (
            <button type="button" class="button primary" onClick={() => setQuery({ definition: '+' }, 'push')}>
              New definition
            </button>
          )
        }
      >
        <Shown asked={asked}>
          {() =>
            rows.length === 0 ? (
              <Empty title="No event definitions yet">
                Page views are tracked automatically. Clicks, forms and visible elements need a definition.
              </Empty>
            ) : (
              <DataTable
                caption="List of event definitions"
                columns={COLUMNS}
                rows={rows}
                keyOf={(row) => row.definition.id}
                csvName="event-definitions"
              />
            )
          }
        </Shown>
      </Panel>
      {chosen !== null && asked.value !== null && (chosen === '+' || definition !== null) && (
        <DefinitionDialog
          key={chosen}
          siteId={siteId}
          definition={definition}
          version={asked.version}
          destinations={(destinations.value?.items ?? []).map(({ name }) => name)}
          onChanged={asked.again}
          onClose={() => setQuery({ definition: null }, 'push')}
        />
      )}
    </div>
  );
}

const rowsOf = (definitions: readonly EventDefinition[], health: TagHealthItem | null): Row[] =>
  definitions.map((definition) => ({
    definition,
    health: health?.definitions.find(({ id }) => id === definition.id) ?? null,
  }));

const STATES: Readonly<Record<DefinitionHealth['state'] | 'off' | 'unknown', { label: string; badge: BadgeKind }>> = {
  firing: { label: 'Firing', badge: 'good' },
  quiet: { label: 'Quiet', badge: 'warn' },
  stopped: { label: 'Stopped firing', badge: 'bad' },
  never_fired: { label: 'Never fired', badge: 'plain' },
  off: { label: 'Disabled', badge: 'plain' },
  unknown: { label: 'Unknown', badge: 'plain' },
};
const stateOf = ({ definition, health }: Row) => STATES[definition.enabled ? (health?.state ?? 'unknown') : 'off'];

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'name',
    title: 'Event',
    value: ({ definition }) => definition.name,
    cell: ({ definition }) => (
      <button type="button" class="link strong" onClick={() => setQuery({ definition: definition.id }, 'push')}>
        {definition.name}
      </button>
    ),
  },
  {
    id: 'trigger',
    title: 'Trigger',
    value: ({ definition }) => triggerOf(definition.trigger)?.label ?? definition.trigger,
  },
  {
    id: 'what',
    title: 'Selector',
    value: ({ definition }) => definition.selector,
    cell: ({ definition }) => (definition.selector === '' ? '–' : <code>{definition.selector}</code>),
  },
  { id: 'pages', title: 'Pages', value: ({ definition }) => definition.url_pattern || 'All pages' },
  stateColumn('state', 'State', (row) => stateOf(row)),
  {
    id: 'last',
    title: 'Last fired',
    value: ({ health }) => health?.last_fired_at ?? null,
    cell: ({ health }) => <LastFired health={health} />,
  },
  {
    id: 'fired',
    title: 'Fired',
    align: 'end',
    value: ({ health }) => health?.fired ?? null,
    cell: ({ health }) => number(health?.fired ?? null),
  },
];

function LastFired({ health }: { health: DefinitionHealth | null }): VNode | string {
  if (health === null || health.last_fired_at === null) return '–';
  const { last_fired_at, usual_gap_ms } = health;
  const usual = usual_gap_ms === null ? '' : `, usually every ${span(usual_gap_ms)}`;
  return <span title={dateTime(last_fired_at) + usual}>{ago(last_fired_at, Date.now())}</span>;
}
