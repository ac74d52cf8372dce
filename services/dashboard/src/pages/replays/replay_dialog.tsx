import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ReplayItem } from '#services/control_api/redelivery.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { dateTime, number, percent, span } from '../../format.ts';
import { Badge } from '../../ui/badge.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { countedSentence, isOver, shareDone, shownState } from './replay_sentences.ts';

interface ReplayDialogProps {
  replay: ReplayItem;
  /** Of the destination. */
  title: string;
  mayChange: boolean;
  onChanged(): void;
  onClose(): void;
}

/** The path of a replay in the API. */
export const replayPath = (id: string): string => `/v1/admin/replays/${encodeURIComponent(id)}`;

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
      <dd>{site_id ?? 'Every site that has the destination'}</dd>
      <dt>Of</dt>
      <dd>{source === 'events' ? 'The events themselves' : 'What failed: its dead letters'}</dd>
      <dt>From</dt>
      <dd>{dateTime(from)}</dd>
      <dt>To</dt>
      <dd>{dateTime(to)}</dd>
      <dt>Rate</dt>
      <dd>At most {number(rate)} events a second</dd>
      {!dry_run && (
        <>
          <dt>Handed over</dt>
          <dd>{number(chosen)} events</dd>
        </>
      )}
      {force && (
        <>
          <dt>Forced</dt>
          <dd>Also what the destination is known to have</dd>
        </>
      )}
      <dt>Asked for</dt>
      <dd>
        {dateTime(created_at)} by {changed_by}
      </dd>
    </dl>
  );
}

function Steering({ replay, onChanged }: Pick<ReplayDialogProps, 'replay' | 'onChanged'>): VNode {
  const [asks, setAsks] = useState(false);
  const action = useAction();
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
          <p>What was handed over to delivery is delivered all the same. The rest can be sent by another replay.</p>
        </Confirm>
      )}
    </>
  );
}
