import { ask } from '../ask.ts';
import { attempt, guarded, listen } from '../guarded.ts';
import type { PartHost } from '../types.ts';
import { appearWhen } from './appear_when.ts';
import { circumstancesOf, isRefused, visitorOf } from './circumstances.ts';
import { openReports, type Post } from './engage_reports.ts';
import { hearEvents } from './hear_events.ts';
import { type KeptShowings, openKept } from './kept_showings.ts';
import { createPlacing } from './placing.ts';
import { withDone, withShown } from './seen_items.ts';
import type { ShowingHost } from './showing.ts';
import { nameOf, type ShownItem } from './shown_item.ts';

const ASK_AGAIN_MS = 60_000;
const TRY_AGAIN_MS = 200;
const TRIES = 50;

/** Asks on each page what of the site's surveys, promos and forms is shown there, and shows it. */
export function startShowing(host: PartHost): void {
  const kept = openKept(() => visitorOf(host));
  // A text needs no preflight.
  const post: Post = (path, body) => ask(host.address(path), { method: 'POST', body, keepalive: true });
  const reports = openReports(kept, post);
  let page = new AbortController();
  let listeners: ((event: string) => void)[] = [];
  let askAgainAtMs = 0;
  const closers: (() => void)[] = [];
  function refused(): void {
    for (const close of closers.splice(0)) close();
    kept.forget();
  }
  const lookAgain = () => {
    if (isRefused(host)) refused();
    else if (!document.hidden && Date.now() > askAgainAtMs) begin();
  };

  const place = createPlacing(host, {
    ...notesIn(kept),
    async tell(path, body) {
      if (!isRefused(host))
        return reports.send(path, { ...body, ...circumstancesOf(host), timestamp: new Date().toISOString() });
      refused();
      return undefined;
    },
    opened: (close) => void closers.push(close),
    closed(item) {
      // What a click opens may be opened again, under another token.
      if (item.show.on === 'click') begin();
    },
  });
  async function look(signal: AbortSignal): Promise<void> {
    askAgainAtMs = Date.now() + ASK_AGAIN_MS;
    const answer = await post('engage', JSON.stringify({ ...circumstancesOf(host), seen: kept.seen() }));
    if (answer.status !== 200) return;
    const { items, next_check_ms } = (await answer.json()) as { items: ShownItem[]; next_check_ms: number };
    askAgainAtMs = Date.now() + next_check_ms;
    if (signal.aborted) return;
    const hear = (one: (event: string) => void) => listeners.push(one);
    for (const item of items) appearWhen(item.show, hear, signal, () => place.fresh(item, signal));
  }
  /** What was to appear on the page before does so no more. */
  function begin(): void {
    page.abort();
    page = new AbortController();
    listeners = [];
    askAgainAtMs = 0;
    // Where nothing comes, nothing is shown; the next page asks again. A page that is hidden asks when it is seen.
    if (!isRefused(host) && !document.hidden) look(page.signal).catch(() => undefined);
  }
  hearEvents(host, (event) => {
    for (const listener of listeners) listener(event);
  });
  whenAllowed(host, () => {
    const open = kept.open(Date.now()).filter(({ path }) => path === location.pathname);
    host.onPage(() => {
      place.newPage(kept);
      begin();
    });
    const isReload = performance.getEntriesByType('navigation')[0]?.toJSON().type === 'reload';
    if (isReload && !isRefused(host)) for (const one of open) place.resumed(one, page.signal);
    reports.sendWaiting();
    listen(window, 'online', reports.sendWaiting);
    keepOpenOverLeaving(kept);
    hearChoices(() => isRefused(host) && refused());
    listen(document, 'visibilitychange', lookAgain);
  });
}

/** What is chosen on this page or in another tab the tag says on a channel of its own. */
function hearChoices(heard: () => void): void {
  attempt(() => {
    new BroadcastChannel('svc').onmessage = () => setTimeout(heard);
  });
}

/** A page that comes back goes on with what it had open. */
function keepOpenOverLeaving(kept: KeptShowings): void {
  for (const type of ['pagehide', 'pageshow'])
    listen(window, type, () => {
      for (const one of kept.mine()) kept.keepOpen(one.id, { ...one, isLeft: type === 'pagehide' });
    });
}

/** The tag starts its parts where that is allowed, and may still wait for another of them. */
function whenAllowed(host: PartHost, start: () => void, triesLeft = TRIES): void {
  if (triesLeft > 0 && isRefused(host)) setTimeout(whenAllowed, TRY_AGAIN_MS, host, start, triesLeft - 1);
  else guarded(start)();
}

/** How the showings of this visitor are remembered. */
const notesIn = (kept: KeptShowings): Pick<ShowingHost, 'shown' | 'done' | 'keepOpen'> => ({
  shown: (item) => kept.note(withShown(kept.seen(), nameOf(item), Date.now())),
  done: (item) => kept.note(withDone(kept.seen(), nameOf(item), Date.now())),
  keepOpen: kept.keepOpen,
});
