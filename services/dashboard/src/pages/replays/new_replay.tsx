import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ReplayItem } from '#services/control_api/redelivery.ts';
import type { SiteItem } from '#services/control_api/sites.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { isSame } from '../../editing/differences.ts';
import { place } from '../../router.ts';
import { siteOfLinks, sites } from '../../site_list.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormActions } from '../../ui/form_actions.tsx';
import { CheckField, problemOf, SelectField, TextField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { mayAt, mayEverywhere } from '../../who.ts';
import type { Kind } from '../destinations/setting_form.ts';
import { replayPath } from './replay_dialog.tsx';
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
  const [offered] = useState<ReplayDraft>(() => draftIn(place.value.query, kinds));
  const [draft, setDraft] = useState(offered);
  const [counted, setCounted] = useState<Counted | null>(null);
  const action = useAction();
  const count = async (event: Event): Promise<void> => {
    event.preventDefault();
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
      <form class="stack" onSubmit={(event) => void count(event)}>
        <DraftFields draft={draft} kinds={kinds} rateProblem={problemOf(action.failure, 'rate')} onDraft={change} />
        {action.failure !== null && <FailureNote failure={action.failure} />}
        {counted === null ? (
          <FormActions
            action="Count first"
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
  const allSites = mayEverywhere('replays.change') ? [{ value: '', label: 'Every site that has it' }] : [];
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
            { value: 'events', label: 'Events that it has not taken' },
            { value: 'dead_letters', label: 'What failed: its dead letters' },
          ]}
        />
        <SelectField
          label="Of"
          value={draft.range}
          onValue={(range) => onDraft({ ...draft, range })}
          options={rangesFor(draft.source)}
        />
      </div>
      {draft.range === OWN_RANGE && <OwnRange draft={draft} onDraft={onDraft} />}
      <TextField
        label="Events a second, at most (optional)"
        inputMode="numeric"
        placeholder="500"
        hint="So that the platform is not called faster than it likes."
        problem={rateProblem}
        value={draft.rate}
        onValue={(rate) => onDraft({ ...draft, rate })}
      />
      <CheckField
        label="Also what the destination is known to have"
        checked={draft.force}
        onChecked={(force) => onDraft({ ...draft, force })}
        hint="Platforms that do not recognise a repetition count such events twice."
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
  const asked = useAnswer(
    counted.id,
    async (signal) => {
      const answer = await request<ReplayItem>('GET', replayPath(counted.id), { signal });
      if (answer.ok) setCounting(!isOver(answer.value));
      return answer;
    },
    isCounting ? COUNTING_EVERY_MS : null,
  );
  const action = useAction();
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
              <p>Counting what there is to send</p>
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
