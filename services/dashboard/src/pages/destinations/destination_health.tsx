import type { VNode } from 'preact';
import { LANES } from '#pipelines/delivery/retry_topics.ts';
import { ago, dateTime, events, number, span } from '../../format.ts';
import { mayAt } from '../../who.ts';
import { type DestinationDialogProps, lettersAddress, replayAddress } from './destination_place.ts';
import { adviceFor, failedText, STATES, skippedTotal } from './destination_rows.ts';

/** After a failure an event waits for longer each time. */
const WAITS = new Intl.ListFormat('en-GB').format(LANES.map(({ delayMs }) => span(delayMs)));

function waitingText(waiting: number, waitsForSettings: boolean): string {
  if (waiting === 0) return 'None';
  return waitsForSettings
    ? `${events(waiting)}, sent once the settings are right`
    : `${events(waiting)}, each tried again by itself, by and by ${WAITS} after its last try`;
}

/** How a destination did in the last 24 hours, what is wrong, and what somebody can do about it. */
export function DestinationHealth({ siteId, row }: DestinationDialogProps): VNode {
  const { health, lacks, state, item } = row;
  if (health === null) return <p class="muted">{STATES[lacks].sentence}</p>;
  const isWrong = state === 'failing' || state === 'waits_for_settings';
  const reason = health.reason === '' ? health.failed_reason : health.reason;
  return (
    <div class="stack">
      {isWrong && (
        <div class={`note ${state === 'failing' ? 'note-bad' : 'note-warn'}`}>
          <div>
            <p>
              <code>{reason}</code>
            </p>
            <p>{adviceFor(reason, state === 'waits_for_settings')}</p>
          </div>
        </div>
      )}
      <dl class="facts">
        <dt>Delivered</dt>
        <dd>
          {number(health.delivered)} in the last 24 hours, of {number(health.attempts)} attempts
        </dd>
        <dt>Waiting</dt>
        <dd>{waitingText(health.waiting, state === 'waits_for_settings')}</dd>
        <dt>Failed</dt>
        <dd>
          {failedText(health)}{' '}
          {health.failed > 0 && mayAt('dead_letters.read', siteId) && (
            <a href={lettersAddress(siteId, item.name)}>See why</a>
          )}{' '}
          {health.failed > 0 && mayAt('replays.change', siteId) && (
            <a href={replayAddress(siteId, item.name)}>Send them again</a>
          )}
        </dd>
        <dt>Calls</dt>
        <dd>
          {span(health.took_ms.p50)} half of them, {span(health.took_ms.p99)} all but 1%
        </dd>
        <dt>From arrival</dt>
        <dd>
          {span(health.age_ms.p50)} half of the events, {span(health.age_ms.p99)} all but 1%
        </dd>
        <dt>Last delivered</dt>
        <dd>{health.delivered_at === null ? 'Not in this time' : moment(health.delivered_at)}</dd>
        {health.failed_at !== null && (
          <>
            <dt>Last error</dt>
            <dd>
              <code>{health.failed_reason}</code>, {moment(health.failed_at)}
            </dd>
          </>
        )}
      </dl>
      <Skipped skipped={health.skipped} total={skippedTotal(health)} />
    </div>
  );
}

const moment = (ms: number): string => `${ago(ms, Date.now())} (${dateTime(ms)})`;

const WHY_SKIPPED: Readonly<Record<string, string>> = {
  not_in_destinations: 'the event or its definition leaves it out',
  anonymous_site: 'the site was in offline mode',
  too_old: 'too old for the platform',
  destination_disabled: 'it was to be tried again, and the destination was switched off by then',
  no_destination: 'it was to be tried again, and the site had no such destination by then',
  consent_denied: 'the visitor did not agree',
  gpc: 'the browser asked not to be shared (Global Privacy Control)',
  insufficient_user_data: 'nothing to match a person by',
  no_platform_event: 'no event of the platform is like it',
  routed_in_browser: 'the browser sends it itself',
};

function Skipped({ skipped, total }: { skipped: Readonly<Record<string, number>>; total: number }): VNode | null {
  if (total === 0) return null;
  const reasons = Object.entries(skipped).sort(([, a], [, b]) => b - a);
  return (
    <section aria-labelledby="skipped">
      <h3 id="skipped">Skipped on purpose</h3>
      <ol class="bars">
        {reasons.map(([reason, count]) => (
          <li key={reason} style={{ '--share': `${((count / total) * 100).toFixed(1)}%` }}>
            <span>
              <code>{reason}</code>
              {WHY_SKIPPED[reason] !== undefined && <span class="muted small"> {WHY_SKIPPED[reason]}</span>}
            </span>
            <span>{number(count)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
