import { useState } from 'preact/hooks';
import type { Condition } from '#pipelines/alerts/alert.ts';
import { conditionText, figureText } from '#pipelines/alerts/message.ts';
import type { AlertItem, AlertStateItem, FiredItem } from '#services/control_api/alerts.ts';
import { request, sitePath } from '../../api/request.ts';
import { useGet, useList } from '../../api/use_answer.ts';
import { dateTime, intervalStart, timeZone } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import {
  AskedTable,
  agoColumn,
  asRows,
  type Column,
  openColumn,
  stateColumn,
  timeColumn,
} from '../../ui/data_table.tsx';
import { Badge, type BadgeKind, Panel, type StateLook } from '../../ui/panel.tsx';
import { AlertDialog } from './alert_dialog.tsx';
import { KINDS } from './alert_form.ts';

const EVERY_MS = 15_000;

interface Row {
  item: AlertItem;
  state: AlertStateItem | null;
}

export default function AlertsPage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  const alerts = useList<AlertItem>(sitePath(siteId, 'alerts'));
  const states = useGet<{ items: AlertStateItem[] }>(sitePath(siteId, 'alert-states'), {}, EVERY_MS);
  const fired = useGet<{ items: FiredItem[] }>(sitePath(siteId, 'fired-alerts'), {}, EVERY_MS);
  const chosen = currentLocation.value.query.get('alert');
  const items = alerts.value?.items ?? [];
  const item = items.find(({ id }) => id === chosen) ?? null;
  const rows: Row[] = items.map((one) => ({
    item: one,
    state: states.value?.items.find(({ alert_id }) => alert_id === one.id) ?? null,
  }));
  const shown = rows.find((row) => row.item === item);
  const [isTested, setTested] = useState(false);
  return (
    <div class="stack">
      <Panel
        title="Alerts"
        actions={
          mayAt('alerts.change', siteId) && (
            <Button kind="primary" label="New alert" onClick={() => setQuery({ alert: '+' }, 'push')} />
          )
        }
      >
        <AskedTable
          asked={asRows(alerts, () => rows)}
          caption="List of alerts"
          columns={COLUMNS}
          keyOf={({ item: { id } }) => id}
          csvName="alerts"
          emptyText="No alerts yet"
          emptyHint="An alert tells a team by e-mail, Slack or webhook when a figure is out of line or stops coming."
        />
      </Panel>
      <Panel title="What fired" note="The newest 100 of the last 90 days; tests too.">
        <AskedTable
          asked={fired}
          caption="List of what fired"
          columns={FIRED_COLUMNS}
          keyOf={({ fired_id }) => fired_id}
          csvName="fired-alerts"
          emptyText={isTested ? 'The test is on its way' : 'Nothing has fired'}
        />
      </Panel>
      {chosen !== null && alerts.value !== null && (chosen === '+' || item !== null) && (
        <AlertDialog
          key={chosen}
          siteId={siteId}
          item={item}
          waitsUntil={shown?.state ? waitsUntil(shown.state) : null}
          taken={items.map(({ id }) => id)}
          onChanged={() => {
            alerts.again();
            states.again();
          }}
          test={(id) => request<FiredItem>('POST', sitePath(siteId, 'alerts', id, 'test'), { body: {} })}
          onTested={() => {
            setTested(true);
            fired.again();
          }}
          onClose={() => setQuery({ alert: null }, 'push')}
        />
      )}
    </div>
  );
}

/** When what an alert waits for is there; null: it waits for nothing, or that is being judged. */
const waitsUntil = ({ waits_until: until }: AlertStateItem): number | null =>
  until !== null && until > Date.now() ? until : null;

const STATES: Readonly<Record<AlertStateItem['status'] | 'problem' | 'unknown', StateLook>> = {
  waiting: { label: 'Waiting for data', badge: 'plain' },
  ok: { label: 'OK', badge: 'good' },
  firing: { label: 'Firing', badge: 'bad' },
  paused: { label: 'Paused', badge: 'plain' },
  problem: { label: 'Not judged', badge: 'warn' },
  unknown: { label: 'Not looked at yet', badge: 'plain' },
};

function stateOf({ item, state }: Row): StateLook {
  if (!item.enabled) return STATES.paused;
  if (state === null) return STATES.unknown;
  const until = waitsUntil(state);
  if (until !== null && state.problem === '') {
    return { ...STATES.waiting, label: `${STATES.waiting.label} until ${intervalStart(until, 'hour', timeZone())}` };
  }
  return STATES[state.problem !== '' && state.status !== 'firing' ? 'problem' : state.status];
}

const COLUMNS: readonly Column<Row>[] = [
  openColumn({
    ...{ id: 'name', title: 'Name', look: 'strong', value: ({ item }) => item.name },
    open: ({ item }) => setQuery({ alert: item.id }, 'push'),
  }),
  stateColumn('state', 'State', stateOf),
  {
    id: 'kind',
    title: 'Watches',
    value: ({ item }) => KINDS.find(({ value }) => value === item.kind)?.label ?? item.kind,
  },
  { id: 'condition', title: 'Condition', value: ({ item }) => conditionText(item.kind, item.condition) },
  { id: 'interval', title: 'Interval', value: ({ item }) => item.interval ?? '–', isExtra: true },
  {
    ...{ id: 'figure', title: 'Last figure', align: 'end' },
    value: ({ state }) => state?.value ?? null,
    cell: ({ item, state }) => (state === null || state.value === null ? '–' : figureText(item.kind, state.value)),
  },
  agoColumn('since', 'Since', ({ state }) => state?.since ?? null),
  {
    ...{ id: 'channels', title: 'Tells', isExtra: true },
    value: ({ item }) => item.channels.map(({ kind, shown }) => `${kind} ${shown}`).join(', '),
  },
];

const SAYS: Readonly<Record<FiredItem['is'], StateLook>> = {
  fired: { label: 'Fired', badge: 'bad' },
  recovered: { label: 'Over', badge: 'good' },
  test: { label: 'Test', badge: 'plain' },
};

type Send = FiredItem['sends'][number];

const SEND_BADGES: Readonly<Record<Send['state'], BadgeKind>> = {
  due: 'plain',
  sending: 'plain',
  sent: 'good',
  given_up: 'bad',
};

/** What became of a message, in words. */
function sendText({ state, reason, attempts, due_at, done_at, is_repeated }: Send): string {
  const because = reason === '' ? '' : ` (${reason})`;
  if (state === 'sent') return `sent ${dateTime(done_at ?? due_at)}${is_repeated ? ', maybe twice' : ''}`;
  if (state === 'given_up') return `could not be sent${because}`;
  if (state === 'sending') return 'being sent';
  return attempts === 0
    ? 'to be sent'
    : `tried ${attempts} ${attempts === 1 ? 'time' : 'times'}${because}, tried again`;
}

const sendsText = ({ sends }: FiredItem): string =>
  sends.map((send) => `${send.kind} ${send.shown}: ${sendText(send)}`).join('; ');

const FIRED_COLUMNS: readonly Column<FiredItem>[] = [
  timeColumn('at', 'Time', ({ at }) => at),
  { id: 'name', title: 'Alert', value: ({ name }) => name },
  stateColumn('is', 'What', ({ is }) => SAYS[is]),
  {
    ...{ id: 'figure', title: 'Figure' },
    value: ({ is, kind, value, base, detail }) =>
      is === 'test'
        ? '–'
        : [detail || figureText(kind, value), ...(base === null ? [] : [`before ${figureText(kind, base)}`])].join(
            ', ',
          ),
  },
  {
    ...{ id: 'threshold', title: 'Threshold' },
    value: ({ kind, condition }) => conditionText(kind, condition as Condition),
  },
  {
    ...{ id: 'sends', title: 'Sent to' },
    value: sendsText,
    cell: ({ sends }) => (
      <ul class="plain-list">
        {sends.map((send) => (
          <li key={send.channel}>
            <Badge kind={SEND_BADGES[send.state]}>{send.kind}</Badge> {send.shown}: {sendText(send)}
          </li>
        ))}
      </ul>
    ),
  },
];
