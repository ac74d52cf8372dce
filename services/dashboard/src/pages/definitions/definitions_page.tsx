import { useMemo, useState } from 'preact/hooks';
import type { EventDefinition } from '#pipelines/settings/event_definitions.ts';
import type { DestinationItem } from '#services/control_api/destinations.ts';
import type { DefinitionHealth, TagHealthItem } from '#services/control_api/operations.ts';
import { sitePath } from '../../api/request.ts';
import { useGet, useList } from '../../api/use_answer.ts';
import { ago, dateTime, span } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import {
  AskedTable,
  asRows,
  type Column,
  codeColumn,
  numberColumn,
  openColumn,
  stateColumn,
} from '../../ui/data_table.tsx';
import { FailureNote, Panel, type StateLook } from '../../ui/panel.tsx';
import { DefinitionDialog } from './definition_dialog.tsx';
import { triggerOf } from './definition_form.ts';
import { PickDialog, type Picked } from './pick_dialog.tsx';

const HEALTH_EVERY_MS = 30_000;

type Health = Pick<DefinitionHealth, 'state' | 'fired' | 'last_fired_at' | 'usual_gap_ms'>;

interface Row {
  definition: EventDefinition;
  /** Null: nothing is known of any definition. */
  health: Health | null;
}

export default function DefinitionsPage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  const asked = useGet<{ items: EventDefinition[] }>(sitePath(siteId, 'event-definitions'));
  const health = useGet<TagHealthItem>(sitePath(siteId, 'tag-health'), {}, HEALTH_EVERY_MS);
  const destinations = useList<DestinationItem>(mayAt('destinations.read', siteId) ? '/v1/admin/destinations' : null, {
    site_id: siteId,
  });
  const rows = useMemo(() => rowsOf(asked.value?.items ?? [], health.value), [asked.value, health.value]);
  const [isPicking, setPicking] = useState(false);
  const [picked, setPicked] = useState<Picked | null>(null);
  const chosen = currentLocation.value.query.get('definition');
  const definition = asked.value?.items.find(({ id }) => id === chosen) ?? null;
  return (
    <div class="stack">
      <FailureNote failure={health.failure} again={health.again} />
      <Panel
        title="Event definitions"
        actions={
          mayAt('definitions.change', siteId) && (
            <>
              <Button label="Choose on your page" onClick={() => setPicking(true)} />
              <Button
                kind="primary"
                label="New definition"
                onClick={() => {
                  setPicked(null);
                  setQuery({ definition: '+' }, 'push');
                }}
              />
            </>
          )
        }
      >
        <AskedTable
          asked={asRows(asked, () => rows)}
          caption="List of event definitions"
          columns={COLUMNS}
          keyOf={(row) => row.definition.id}
          csvName="event-definitions"
          emptyText="No event definitions yet"
          emptyHint="Page views are tracked automatically. Clicks, forms and visible elements need a definition."
        />
      </Panel>
      {isPicking && (
        <PickDialog
          siteId={siteId}
          onPicked={(one) => {
            setPicking(false);
            setPicked(one);
            setQuery({ definition: '+' }, 'push');
          }}
          onClose={() => setPicking(false)}
        />
      )}
      {chosen !== null && asked.value !== null && (chosen === '+' || definition !== null) && (
        <DefinitionDialog
          key={chosen}
          siteId={siteId}
          definition={definition}
          version={asked.version}
          destinations={(destinations.value?.items ?? []).map(({ name }) => name)}
          picked={definition === null ? picked : null}
          onChanged={() => {
            asked.again();
            health.again();
          }}
          onClose={() => {
            setPicked(null);
            setQuery({ definition: null }, 'push');
          }}
        />
      )}
    </div>
  );
}

/** A definition that was made since the health was read has not fired. */
const NEW: Health = { state: 'never_fired', fired: 0, last_fired_at: null, usual_gap_ms: null };

export const rowsOf = (definitions: readonly EventDefinition[], health: TagHealthItem | null): Row[] =>
  definitions.map((definition) => ({
    definition,
    health: health && (health.definitions.find(({ id }) => id === definition.id) ?? NEW),
  }));

const STATES: Readonly<Record<Exclude<Health['state'], 'never_fired'> | 'off' | 'unknown', StateLook>> = {
  firing: { label: 'Firing', badge: 'good' },
  quiet: { label: 'Quiet', badge: 'warn' },
  stopped: { label: 'Stopped firing', badge: 'bad' },
  off: { label: 'Disabled', badge: 'plain' },
  unknown: { label: 'Unknown', badge: 'plain' },
};

/** Before it first fires it says what for. */
export function stateOf({ definition: { enabled, trigger }, health }: Row): StateLook {
  const state = enabled ? (health?.state ?? 'unknown') : 'off';
  if (state !== 'never_fired') return STATES[state];
  return { label: `Waiting for the first ${AWAITED[trigger]}`, badge: 'plain' };
}

const AWAITED: Readonly<Record<EventDefinition['trigger'], string>> = {
  pageview: 'page view',
  click: 'click',
  submit: 'form submit',
  change: 'field change',
  visible: 'view of the element',
  scroll: 'scroll that far',
  timer: 'visit that long',
  custom: 'call by the page',
};

const COLUMNS: readonly Column<Row>[] = [
  openColumn({
    ...{ id: 'name', title: 'Event', look: 'strong', value: ({ definition }) => definition.name },
    open: ({ definition }) => setQuery({ definition: definition.id }, 'push'),
  }),
  {
    ...{ id: 'trigger', title: 'Trigger' },
    value: ({ definition }) => triggerOf(definition.trigger)?.label ?? definition.trigger,
  },
  codeColumn('what', 'Selector', ({ definition }) => definition.selector),
  { id: 'pages', title: 'Pages', value: ({ definition }) => definition.url_pattern || 'All pages' },
  stateColumn('state', 'State', (row) => stateOf(row)),
  {
    ...{ id: 'last', title: 'Last fired', value: ({ health }) => health?.last_fired_at ?? null },
    cell: ({ health }) => <LastFired health={health} />,
  },
  numberColumn('fired', 'Fired', ({ health }) => health?.fired ?? null),
];

function LastFired({ health }: { health: Health | null }) {
  if (health === null || health.last_fired_at === null) return '–';
  const { last_fired_at, usual_gap_ms } = health;
  const usual = usual_gap_ms === null ? '' : `, usually every ${span(usual_gap_ms)}`;
  return <span title={dateTime(last_fired_at) + usual}>{ago(last_fired_at, Date.now())}</span>;
}
