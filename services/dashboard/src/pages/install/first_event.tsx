import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { ask } from '../../api/questions.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { timeOfDay } from '../../format.ts';
import { addressOf } from '../../router.ts';
import { Icon } from '../../ui/icon.tsx';
import { FailureNote } from '../../ui/states.tsx';

const EVERY_MS = 2_000;

/** Waits for an event of the site, and turns green when there is one. */
export function FirstEvent({ siteId }: { siteId: string }): VNode {
  const [isThere, setThere] = useState(false);
  const asked = useAnswer(
    siteId,
    async (signal) => {
      const answer = await ask(siteId, 'live', { limit: 1 }, signal);
      if (answer.ok && answer.value.events.length > 0) setThere(true);
      return answer;
    },
    isThere ? null : EVERY_MS,
  );
  const event = asked.value?.events[0];
  const home = (page: string): string => addressOf(`/sites/${encodeURIComponent(siteId)}/${page}`);
  return (
    <div class="stack" role="status">
      {asked.failure !== null && <FailureNote failure={asked.failure} again={asked.again} />}
      {event === undefined ? (
        <p class="visitors-now first-event">
          <span class="pulse" aria-hidden="true" /> Waiting for an event. Open one of the pages in a browser.
        </p>
      ) : (
        <div class="note note-good">
          <Icon name="check" />
          <div>
            <p class="strong">Events arrive</p>
            <p class="wraps">
              <code>{event.event}</code> came at {timeOfDay(event.received_at)}.
            </p>
            <p>
              <a href={home('overview')}>Go to the overview</a>, or <a href={home('destinations')}>send events on</a>.
            </p>
          </div>
        </div>
      )}
    </div>
  );
}
