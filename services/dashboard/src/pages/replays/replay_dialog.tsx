import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ReplayItem } from '#services/control_api/redelivery.ts';
import type { SiteItem } from '#services/control_api/sites.ts';
import { request } from '../../api/request.ts';
import { useMutation, useQuery } from '../../api/use_answer.ts';
import { isSame } from '../../editing/differences.ts';
import { dateTime, number, percent, span } from '../../format.ts';
import { currentLocation } from '../../router.ts';
import { mayAt, mayEverywhere } from '../../session.ts';
import { siteOfLinks, sites } from '../../site_list.ts';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { CheckField, FormActions, problemOf, SelectField, submitHandler, TextField } from '../../ui/form_fields.tsx';
import { Badge, FailureNote } from '../../ui/panel.tsx';
import type { Kind } from '../destinations/setting_form.ts';
import {
  countedSentence,
  isOver,
  OWN_RANGE,
  type ReplayAsked,
  type ReplayDraft,
  rangeOfSource,
  rangeProblems,
  rangesFor,
  replayBody,
  sendLabel,
  shareDone,
  shownState,
} from './replay_sentences.ts';

interface NewReplayProps {
  kinds: readonly Kind[];
  onStarted(replayId: string): void;
  onClose(): void;
}

/** What was counted: the question, so that the same is sent, and the replay that counts. */
interface Counted {
  body: ReplayAsked;
  id: string;
}

const COUNTING_EVERY_MS = 700;

/** Asks what to send again, counts it first, and sends it when the person has seen how much it is. */
export function NewReplay({ kinds, onStarted, onClose }: NewReplayProps): VNode {
  const [offered] = useState<ReplayDraft>(() => draftIn(currentLocation.value.query, kinds));
  const [draft, setDraft] = useState(offered);
  const [counted, setCounted] = useState<Counted | null>(null);
  const action = useMutation();
  const count = async (): Promise<void> => {
    const body = replayBody(draft, Date.now());
    const replay = await action.run(() =>
      request<ReplayItem>('POST', '/v1/admin/replays', { body: { ...body, dry_run: true } }),
    );
    if (replay !== null) setCounted({ body, id: replay.replay_id });
  };
  const change = (next: ReplayDraft): void => {
    setDraft(next);
    setCounted(null);
  };
  return (
    <Dialog title="New replay" isChanged={!isSame(draft, offered)} onClose={onClose}>
      <form class="stack" onSubmit={submitHandler(() => void count())}>
        <DraftFields draft={draft} kinds={kinds} rateProblem={problemOf(action.failure, 'rate')} onDraft={change} />
        {action.failure !== null && <FailureNote failure={action.failure} />}
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

function draftIn(query: URLSearchParams, kinds: readonly Kind[]): ReplayDraft {
  return {
    destination: query.get('destination') ?? kinds[0]?.name ?? '',
    site: query.get('site') ?? usualSite(),
    ...rangeOfSource(query.get('source') === 'dead_letters' ? 'dead_letters' : 'events'),
    ...{ from: '', to: '', rate: '', force: false },
  };
}

/** The site that was looked at last; a replay of every site is for those who may replay everywhere. */
function usualSite(): string {
  const last = siteOfLinks.value;
  if (last !== null && mayAt('replays.change', last)) return last;
  return mayEverywhere('replays.change') ? '' : (replayedSites()[0]?.site_id ?? '');
}

function isRange(draft: ReplayDraft): boolean {
  const { from, to } = rangeProblems(draft, Date.now());
  return from === '' && to === '';
}

/** The sites of which the person may send events again. */
const replayedSites = (): SiteItem[] => (sites.value ?? []).filter(({ site_id }) => mayAt('replays.change', site_id));

interface DraftFieldsProps {
  draft: ReplayDraft;
  kinds: readonly Kind[];
  rateProblem: string;
  onDraft(draft: ReplayDraft): void;
}

function DraftFields({ draft, kinds, rateProblem, onDraft }: DraftFieldsProps): VNode {
  const allSites = mayEverywhere('replays.change') ? [{ value: '', label: 'All sites that have it' }] : [];
  return (
    <>
      <div class="form-row">
        <SelectField
          label="Destination"
          value={draft.destination}
          onValue={(destination) => onDraft({ ...draft, destination })}
          options={kinds.map(({ name, title }) => ({ value: name, label: title }))}
        />
        <SelectField
          label="Site"
          value={draft.site}
          onValue={(site) => onDraft({ ...draft, site })}
          options={[...allSites, ...replayedSites().map(({ site_id }) => ({ value: site_id, label: site_id }))]}
        />
      </div>
      <div class="form-row">
        <SelectField
          label="What"
          value={draft.source}
          onValue={(source) => onDraft({ ...draft, ...rangeOfSource(source as ReplayDraft['source']) })}
          options={[
            { value: 'events', label: 'Undelivered events' },
            { value: 'dead_letters', label: 'Dead letters' },
          ]}
        />
        <SelectField
          label="Period"
          value={draft.range}
          onValue={(range) => onDraft({ ...draft, range })}
          options={rangesFor(draft.source)}
        />
      </div>
      {draft.range === OWN_RANGE && <OwnRange draft={draft} onDraft={onDraft} />}
      <TextField
        label="Max events per second (optional)"
        inputMode="numeric"
        placeholder="500"
        hint="Limits the load on the platform."
        problem={rateProblem}
        value={draft.rate}
        onValue={(rate) => onDraft({ ...draft, rate })}
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

/** The two ends of a range. */
function OwnRange({ draft, onDraft }: Pick<DraftFieldsProps, 'draft' | 'onDraft'>): VNode {
  const problems = rangeProblems(draft, Date.now());
  return (
    <div class="form-row">
      <TextField
        label="From"
        type="datetime-local"
        required
        problem={draft.from === '' ? '' : problems.from}
        value={draft.from}
        onValue={(from) => onDraft({ ...draft, from })}
      />
      <TextField
        label="To (optional)"
        type="datetime-local"
        hint="Empty: until now."
        problem={draft.from === '' ? '' : problems.to}
        value={draft.to}
        onValue={(to) => onDraft({ ...draft, to })}
      />
    </div>
  );
}

/** What counting finds, and the button that sends it. */
function Found({ counted, onStarted, onClose }: { counted: Counted } & Omit<NewReplayProps, 'kinds'>): VNode {
  const [isCounting, setCounting] = useState(true);
  const asked = useQuery(
    counted.id,
    async (signal) => {
      const answer = await request<ReplayItem>('GET', replayPath(counted.id), { signal });
      if (answer.ok) setCounting(!isOver(answer.value));
      return answer;
    },
    isCounting ? COUNTING_EVERY_MS : null,
  );
  const action = useMutation();
  const replay = asked.value;
  const isReady = replay?.state === 'done';
  const send = async (): Promise<void> => {
    const started = await action.run(() => request<ReplayItem>('POST', '/v1/admin/replays', { body: counted.body }));
    if (started !== null) onStarted(started.replay_id);
  };
  return (
    <>
      <div class={`note ${replay?.state === 'failed' ? 'note-bad' : 'note-info'}`} role="status">
        <div>
          {isReady ? (
            <p>{countedSentence(replay)}.</p>
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
                value={replay === null ? 0 : (shareDone(replay) ?? 0)}
                aria-label="Counted"
              />
            </>
          )}
        </div>
      </div>
      {(action.failure ?? asked.failure) !== null && (
        <FailureNote failure={(action.failure ?? asked.failure) as NonNullable<typeof action.failure>} />
      )}
      <div class="actions">
        <button type="button" class="button" onClick={onClose}>
          {isReady && replay.to_send === 0 ? 'Close' : 'Cancel'}
        </button>
        <button
          type="button"
          class="button primary"
          disabled={!isReady || replay.to_send === 0 || action.isBusy}
          onClick={() => void send()}
        >
          {sendLabel(isReady ? replay.to_send : null)}
        </button>
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

/** The path of a replay in the API. */
const replayPath = (id: string): string => `/v1/admin/replays/${encodeURIComponent(id)}`;

/** One replay: how far it is, and pausing or cancelling it. */
export function ReplayDialog({ replay, title, mayChange, onChanged, onClose }: ReplayDialogProps): VNode {
  const share = shareDone(replay);
  return (
    <Dialog title={`Replay to ${title}`} kind="side" onClose={onClose}>
      <div class="stack">
        <p class="row">
          <Badge kind={shownState(replay).badge}>{shownState(replay).label}</Badge>
          {replay.detail !== '' && <code>{replay.detail}</code>}
        </p>
        {share !== null && (
          <div>
            <progress class="progress" max={1} value={share} aria-label="Progress" />
            <p class="muted small">
              {percent(share)}
              {replay.estimate_ms !== null && !isOver(replay) && `, about ${span(replay.estimate_ms)} left`}
            </p>
          </div>
        )}
        {replay.to_send !== null && <p>{countedSentence(replay)}.</p>}
        <Facts replay={replay} />
        {mayChange && !isOver(replay) && <Steering replay={replay} onChanged={onChanged} />}
      </div>
    </Dialog>
  );
}

function Facts({ replay }: { replay: ReplayItem }): VNode {
  const { site_id, source, from, to, rate, force, dry_run, chosen, created_at, changed_by } = replay;
  return (
    <dl class="facts">
      <dt>Site</dt>
      <dd>{site_id ?? 'All sites that have the destination'}</dd>
      <dt>Source</dt>
      <dd>{source === 'events' ? 'Undelivered events' : 'Dead letters'}</dd>
      <dt>From</dt>
      <dd>{dateTime(from)}</dd>
      <dt>To</dt>
      <dd>{dateTime(to)}</dd>
      <dt>Rate</dt>
      <dd>At most {number(rate)} events a second</dd>
      {!dry_run && (
        <>
          <dt>Passed to delivery</dt>
          <dd>{number(chosen)} events</dd>
        </>
      )}
      {force && (
        <>
          <dt>Forced</dt>
          <dd>Include events already delivered</dd>
        </>
      )}
      <dt>Requested</dt>
      <dd>
        {dateTime(created_at)} by {changed_by}
      </dd>
    </dl>
  );
}

function Steering({ replay, onChanged }: Pick<ReplayDialogProps, 'replay' | 'onChanged'>): VNode {
  const [asks, setAsks] = useState(false);
  const action = useMutation();
  const want = async (wanted: ReplayItem['wanted']): Promise<void> => {
    const body = { wanted };
    const changed = await action.run(() => request<ReplayItem>('PATCH', replayPath(replay.replay_id), { body }));
    if (changed === null) return;
    setAsks(false);
    onChanged();
  };
  const isPaused = replay.wanted === 'paused';
  return (
    <>
      {action.failure !== null && <FailureNote failure={action.failure} />}
      <div class="actions">
        <button type="button" class="button danger" onClick={() => setAsks(true)}>
          Cancel the replay
        </button>
        <button
          type="button"
          class="button"
          disabled={action.isBusy}
          onClick={() => void want(isPaused ? 'running' : 'paused')}
        >
          {isPaused ? 'Resume' : 'Pause'}
        </button>
      </div>
      {asks && (
        <Confirm
          title="Cancel the replay?"
          action="Cancel the replay"
          isDangerous
          isBusy={action.isBusy}
          onConfirm={() => void want('cancelled')}
          onClose={() => setAsks(false)}
        >
          <p>Events already passed to delivery are still delivered. The rest can be sent by another replay.</p>
        </Confirm>
      )}
    </>
  );
}
