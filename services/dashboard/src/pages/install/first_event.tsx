import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { Answer } from '../../api/api_answer.ts';
import { ask } from '../../api/questions.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { ago, timeOfDay } from '../../format.ts';
import { addressOf } from '../../router.ts';
import { Icon } from '../../ui/icon.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { askedFrom, browserQuestion, cameSince, pageOf, type Watched } from './browser_event.ts';

const EVERY_MS = 2_000;
/** How far back it is looked for events of browsers when the page is opened: a short time first, which costs little. */
const LOOKS_BACK_MS = [600_000, 7 * 86_400_000];

/** Waits for an event that a browser sent, and turns green when there is one. */
export function FirstEvent({ siteId }: { siteId: string }): VNode {
  const [watched, setWatched] = useState<Watched | null>(null);
  const isThere = watched !== null && cameSince(watched);
  const asked = useAnswer(
    siteId,
    async (signal) => {
      const answer = await look(siteId, watched, signal);
      if (answer.ok) setWatched(answer.value);
      return answer;
    },
    isThere ? null : EVERY_MS,
  );
  return (
    <div class="stack">
      {/* Said once: how long ago it was is another text at every look. */}
      <p class="hidden" role="status">
        {watched?.newest == null ? '' : isThere ? 'An event of a browser came' : 'Browsers have sent events'}
      </p>
      {asked.failure !== null && <FailureNote failure={asked.failure} again={asked.again} />}
      {watched !== null && watched.newest !== null ? (
        <Arrived siteId={siteId} event={watched.newest} isNew={isThere} />
      ) : (
        <>
          <p class="visitors-now first-event">
            <span class="pulse" aria-hidden="true" /> Waiting for an event of a browser. Open one of the pages in one.
          </p>
          <p class="muted">
            Nothing comes? A key that is mistyped or not of this site is answered 403, which stands in the browser’s
            console and nowhere here. A browser that a program drives counts as a bot, and a page whose origin the key
            does not allow is refused: both stand under{' '}
            <a href={addressOf(`/sites/${encodeURIComponent(siteId)}/refusals`)}>Not accepted</a>.
          </p>
        </>
      )}
    </div>
  );
}

/** Looks once: the first time back in time, later for what is newer than what is known. */
async function look(siteId: string, watched: Watched | null, signal: AbortSignal): Promise<Answer<Watched>> {
  if (watched !== null) {
    const answer = await ask(siteId, 'live', browserQuestion(askedFrom(watched)), signal);
    if (!answer.ok) return answer;
    return { ...answer, value: { ...watched, newest: answer.value.events[0] ?? watched.newest } };
  }
  let openedMs: number | null = null;
  for (const backMs of LOOKS_BACK_MS) {
    const answer = await ask(siteId, 'live', browserQuestion(Date.now() - backMs), signal);
    if (!answer.ok) return answer;
    openedMs ??= answer.value.as_of;
    const [newest] = answer.value.events;
    if (newest !== undefined) return { ...answer, value: { openedMs, newest } };
  }
  return { ok: true, value: { openedMs: openedMs ?? Date.now(), newest: null }, version: null };
}

interface ArrivedProps {
  siteId: string;
  event: Listing['events'][number];
  /** Whether it came since the page was opened. */
  isNew: boolean;
}

function Arrived({ siteId, event, isNew }: ArrivedProps): VNode {
  const home = (page: string): string => addressOf(`/sites/${encodeURIComponent(siteId)}/${page}`);
  const page = pageOf(event);
  const from = page === '' ? ', without the address of a page' : ' from ';
  return (
    <div class="note note-good">
      <Icon name="check" />
      <div>
        <p class="strong">
          {isNew
            ? 'Events arrive'
            : `Events of browsers arrive, the last one came ${ago(event.received_at, Date.now())}`}
        </p>
        <p class="wraps">
          <code>{event.event}</code> came at {timeOfDay(event.received_at)}
          {from}
          {page !== '' && <code>{page}</code>}.
        </p>
        <p>
          <a href={home('overview')}>Go to the overview</a>, or <a href={home('destinations')}>send events on</a>.
        </p>
      </div>
    </div>
  );
}
