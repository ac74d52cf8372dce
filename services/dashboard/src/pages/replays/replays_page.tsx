import { useState } from 'preact/hooks';
import type { DestinationItem } from '#services/control_api/destinations.ts';
import type { ReplayItem } from '#services/control_api/redelivery.ts';
import type { SiteItem } from '#services/control_api/sites.ts';
import { apiPath, request } from '../../api/request.ts';
import { useGet, useList, useMutation } from '../../api/use_answer.ts';
import { dateTime, isSame, number, percent, span } from '../../format.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt, mayEverywhere } from '../../session.ts';
import { siteOfLinks, sites } from '../../site_list.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm_action.tsx';
import { AskedTable, type Column, numberColumn, openColumn, stateColumn } from '../../ui/data_table.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import {
  CheckField,
  type DraftProps,
  FormActions,
  SelectField,
  submitHandler,
  TextField,
  textFields,
} from '../../ui/form_fields.tsx';
import { Facts, FailureNote, Panel, StateBadge } from '../../ui/panel.tsx';
import { destinationTitle } from '../destinations/destination_rows.ts';
import type { Kind } from '../destinations/setting_form.ts';
import * as replays from './replay_sentences.ts';
import { isOver, shareDone, shownState } from './replay_sentences.ts';

const RUNNING_EVERY_MS = 1_000;
const IDLE_EVERY_MS = 10_000;
const REPLAYS_MAX = 1_000;
const NEW = { new: null, destination: null, site: null, source: null };

export default function ReplaysPage() {
  const asked = useList<ReplayItem>(
    '/v1/admin/replays',
    {},
    (known) => (known?.items.some((one) => !isOver(one)) === true ? RUNNING_EVERY_MS : IDLE_EVERY_MS),
    REPLAYS_MAX,
  );
  const kinds = useGet<{ items: Kind[] }>('/v1/admin/destination-kinds');
  const { query } = currentLocation.value;
  const mayChange = mayAt('replays.change', null);
  const chosen = asked.value?.items.find(({ replay_id }) => replay_id === query.get('replay'));
  const isNew = query.get('new') !== null && mayChange;
  const others = useList<DestinationItem>(isNew ? '/v1/admin/destinations' : null);
  const titleOf = (name: string): string => destinationTitle(name, kinds.value?.items ?? []);
  const names = new Set([...(kinds.value?.items ?? []), ...(others.value?.items ?? [])].map(({ name }) => name));
  return (
    <div class="stack">
      <Panel
        title="Replays"
        note="A replay sends events that a destination has not received. Delivered events are left out."
        actions={
          mayChange && <Button kind="primary" label="New replay" onClick={() => setQuery({ new: '1' }, 'push')} />
        }
      >
        <AskedTable
          asked={asked}
          caption="Replays"
          columns={columnsOf(titleOf)}
          keyOf={({ replay_id }) => replay_id}
          sortedBy={{ column: 'created', isDescending: true }}
          csvName="replays"
          emptyText="No replays yet"
          emptyHint="Send a destination the events it missed while it was down or misconfigured."
        />
      </Panel>
      {chosen !== undefined && (
        <ReplayDialog
          replay={chosen}
          title={titleOf(chosen.destination)}
          mayChange={mayChange}
          onChanged={asked.again}
          onClose={() => setQuery({ replay: null }, 'push')}
        />
      )}
      {isNew && kinds.value !== null && (
        <NewReplay
          options={[...names].map((value) => ({ value, label: titleOf(value) }))}
          onStarted={(id) => {
            asked.again();
            setQuery({ ...NEW, replay: id });
          }}
          onClose={() => setQuery(NEW, 'push')}
        />
      )}
    </div>
  );
}

const columnsOf = (titleOf: (name: string) => string): readonly Column<ReplayItem>[] => [
  openColumn({
    ...{ id: 'created', title: 'Requested', value: ({ created_at }) => created_at },
    shown: ({ created_at }) => dateTime(created_at),
    open: ({ replay_id }) => setQuery({ replay: replay_id }, 'push'),
  }),
  { id: 'destination', title: 'Destination', value: ({ destination }) => titleOf(destination) },
  { id: 'site', title: 'Site', value: ({ site_id }) => site_id ?? 'All sites' },
  stateColumn('state', 'State', (replay) => shownState(replay)),
  { id: 'progress', title: 'Progress', cell: (replay) => <Progress replay={replay} /> },
  numberColumn('to_send', 'To send', ({ to_send }) => to_send),
  { id: 'by', title: 'Changed by', value: ({ changed_by }) => changed_by },
];

function Progress({ replay }: { replay: ReplayItem }) {
  const share = shareDone(replay);
  if (share === null) return '–';
  return (
    <progress
      class="progress"
      max={1}
      value={share}
      aria-label={`Progress of the replay of ${dateTime(replay.created_at)}`}
    />
  );
}

interface NewReplayProps {
  /** Ids of destinations, and how they are called. */
  options: readonly { value: string; label: string }[];
  onStarted(replayId: string): void;
  onClose(): void;
}

/** What was counted: the question, so that the same is sent, and the replay that counts. */
interface Counted {
  body: replays.ReplayAsked;
  id: string;
}

const COUNTING_EVERY_MS = 700;

function NewReplay({ options, onStarted, onClose }: NewReplayProps) {
  const [offered] = useState<replays.ReplayDraft>(() => draftIn(currentLocation.value.query, options));
  const [draft, setDraft] = useState(offered);
  const [counted, setCounted] = useState<Counted | null>(null);
  const action = useMutation();
  const count = () => {
    const body = replays.replayBody(draft, Date.now());
    return action.run(
      () => request<ReplayItem>('POST', '/v1/admin/replays', { body: { ...body, dry_run: true } }),
      ({ replay_id: id }) => setCounted({ body, id }),
    );
  };
  const change = (next: replays.ReplayDraft): void => {
    setDraft(next);
    setCounted(null);
  };
  return (
    <Dialog title="New replay" isChanged={!isSame(draft, offered)} onClose={onClose}>
      <form class="stack" onSubmit={submitHandler(count)}>
        <DraftFields draft={draft} options={options} failure={action.failure} onDraft={change} />
        <FailureNote failure={action.failure} />
        {counted === null ? (
          <FormActions
            action="Count events"
            disabled={action.isBusy || draft.destination === '' || !isRange(draft)}
            onClose={onClose}
          />
        ) : (
          <Found key={counted.id} counted={counted} onStarted={onStarted} onClose={onClose} />
        )}
      </form>
    </Dialog>
  );
}

const draftIn = (query: URLSearchParams, options: NewReplayProps['options']): replays.ReplayDraft => ({
  destination: query.get('destination') ?? options[0]?.value ?? '',
  site: query.get('site') ?? usualSite(),
  ...replays.rangeOfSource(query.get('source') === 'dead_letters' ? 'dead_letters' : 'events'),
  ...{ from: '', to: '', rate: '', force: false },
});

/** The site that was looked at last; a replay of every site is for those who may replay everywhere. */
function usualSite(): string {
  const last = siteOfLinks.value;
  if (last !== null && mayAt('replays.change', last)) return last;
  return mayEverywhere('replays.change') ? '' : (replayedSites()[0]?.site_id ?? '');
}

function isRange(draft: replays.ReplayDraft): boolean {
  const { from, to } = replays.rangeProblems(draft, Date.now());
  return from === '' && to === '';
}

const replayedSites = (): SiteItem[] => (sites.value ?? []).filter(({ site_id }) => mayAt('replays.change', site_id));

type DraftFieldsProps = DraftProps<replays.ReplayDraft> & Pick<NewReplayProps, 'options'>;

function DraftFields({ draft, options, failure, onDraft }: DraftFieldsProps) {
  const allSites = mayEverywhere('replays.change') ? [{ value: '', label: 'All sites that have it' }] : [];
  const field = textFields(draft, (change) => onDraft({ ...draft, ...change }), failure);
  const problems = replays.rangeProblems(draft, Date.now());
  return (
    <>
      <div class="form-row">
        <SelectField label="Destination" options={options} {...field('destination')} />
        <SelectField
          label="Site"
          options={[...allSites, ...replayedSites().map(({ site_id }) => ({ value: site_id, label: site_id }))]}
          {...field('site')}
        />
      </div>
      <div class="form-row">
        <SelectField
          label="What"
          value={draft.source}
          onValue={(source) => onDraft({ ...draft, ...replays.rangeOfSource(source as replays.ReplayDraft['source']) })}
          options={[
            { value: 'events', label: 'Undelivered events' },
            { value: 'dead_letters', label: 'Dead letters' },
          ]}
        />
        <SelectField label="Period" options={replays.rangesFor(draft.source)} {...field('range')} />
      </div>
      {draft.range === replays.OWN_RANGE && (
        <div class="form-row">
          <TextField
            label="From"
            type="datetime-local"
            required
            {...field('from')}
            problem={draft.from === '' ? '' : problems.from}
          />
          <TextField
            label="To (optional)"
            type="datetime-local"
            hint="Empty: until now."
            {...field('to')}
            problem={draft.from === '' ? '' : problems.to}
          />
        </div>
      )}
      <TextField
        label="Max events per second (optional)"
        inputMode="numeric"
        placeholder="500"
        hint="Limits the load on the platform."
        {...field('rate')}
      />
      <CheckField
        label="Include events already delivered"
        checked={draft.force}
        onChecked={(force) => onDraft({ ...draft, force })}
        hint="Platforms that do not deduplicate count them twice."
      />
    </>
  );
}

function Found({ counted, onStarted, onClose }: { counted: Counted } & Omit<NewReplayProps, 'options'>) {
  const asked = useGet<ReplayItem>(replayPath(counted.id), {}, (found) =>
    found !== null && replays.isOver(found) ? null : COUNTING_EVERY_MS,
  );
  const action = useMutation();
  const replay = asked.value;
  const isReady = replay?.state === 'done';
  const send = () =>
    action.run(
      () => request<ReplayItem>('POST', '/v1/admin/replays', { body: counted.body }),
      ({ replay_id }) => onStarted(replay_id),
    );
  return (
    <>
      <div class={`note ${replay?.state === 'failed' ? 'note-bad' : 'note-info'}`} role="status">
        <div>
          {isReady ? (
            <p>{replays.countedSentence(replay)}.</p>
          ) : replay?.state === 'failed' ? (
            <p>
              Counting failed: <code>{replay.detail}</code>
            </p>
          ) : (
            <>
              <p>Counting events to send</p>
              <progress
                class="progress"
                max={1}
                value={replay === null ? 0 : (replays.shareDone(replay) ?? 0)}
                aria-label="Counted"
              />
            </>
          )}
        </div>
      </div>
      <FailureNote failure={action.failure ?? asked.failure} />
      <div class="actions">
        <Button label={isReady && replay.to_send === 0 ? 'Close' : 'Cancel'} onClick={onClose} />
        <Button
          kind="primary"
          label={replays.sendLabel(isReady ? replay.to_send : null)}
          disabled={!isReady || replay.to_send === 0 || action.isBusy}
          onClick={send}
        />
      </div>
    </>
  );
}

interface ReplayDialogProps {
  replay: ReplayItem;
  /** Of the destination. */
  title: string;
  mayChange: boolean;
  onChanged(): void;
  onClose(): void;
}

const replayPath = (id: string): string => apiPath('admin', 'replays', id);

function ReplayDialog({ replay, title, mayChange, onChanged, onClose }: ReplayDialogProps) {
  const share = replays.shareDone(replay);
  return (
    <Dialog title={`Replay to ${title}`} kind="side" onClose={onClose}>
      <div class="stack">
        <p class="row">
          <StateBadge of={replays.shownState(replay)} />
          {replay.detail !== '' && <code>{replay.detail}</code>}
        </p>
        {share !== null && (
          <div>
            <progress class="progress" max={1} value={share} aria-label="Progress" />
            <p class="muted small">
              {percent(share)}
              {replay.estimate_ms !== null && !replays.isOver(replay) && `, about ${span(replay.estimate_ms)} left`}
            </p>
          </div>
        )}
        {replay.to_send !== null && <p>{replays.countedSentence(replay)}.</p>}
        <ReplayFacts replay={replay} />
        {mayChange && !replays.isOver(replay) && <Steering replay={replay} onChanged={onChanged} />}
      </div>
    </Dialog>
  );
}

function ReplayFacts({ replay }: { replay: ReplayItem }) {
  const { site_id, source, from, to, rate, force, dry_run, chosen, created_at, changed_by } = replay;
  return (
    <Facts
      facts={[
        ['Site', site_id ?? 'All sites that have the destination'],
        ['Source', source === 'events' ? 'Undelivered events' : 'Dead letters'],
        ['From', dateTime(from)],
        ['To', dateTime(to)],
        ['Rate', `At most ${number(rate)} events a second`],
        !dry_run && ['Passed to delivery', `${number(chosen)} events`],
        force && ['Forced', 'Include events already delivered'],
        ['Requested', `${dateTime(created_at)} by ${changed_by}`],
      ]}
    />
  );
}

function Steering({ replay, onChanged }: Pick<ReplayDialogProps, 'replay' | 'onChanged'>) {
  const action = useMutation();
  const want = (wanted: ReplayItem['wanted']) =>
    request<ReplayItem>('PATCH', replayPath(replay.replay_id), { body: { wanted } });
  const isPaused = replay.wanted === 'paused';
  return (
    <>
      <FailureNote failure={action.failure} />
      <div class="actions">
        <ConfirmButton
          title="Cancel the replay?"
          action="Cancel the replay"
          run={() => want('cancelled')}
          onDone={onChanged}
        >
          Events already passed to delivery are still delivered. The rest can be sent by another replay.
        </ConfirmButton>
        <Button
          label={isPaused ? 'Resume' : 'Pause'}
          disabled={action.isBusy}
          onClick={() => action.run(() => want(isPaused ? 'running' : 'paused'), onChanged)}
        />
      </div>
    </>
  );
}
