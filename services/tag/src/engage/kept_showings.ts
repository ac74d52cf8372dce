import type { ShownItem, SurveyProgress } from '#services/engage_panels/shown_item.ts';
import { keep, readKept } from '../kept.ts';
import type { Report, ReportQueue } from './engage_reports.ts';
import type { SeenItems } from './seen_items.ts';

/** What is open: it goes on under its id where the page is loaded again. */
export interface OpenShowing {
  /** Of the page. */
  path: string;
  item: ShownItem;
  /** The submission's or impression's id, made once. */
  id: string;
  shownMs: number;
  /** The page that shows it is left: a reload may go on with it, in this or another tab. */
  isLeft?: boolean;
  progress?: SurveyProgress | undefined;
}

interface Kept {
  /** Whose memory it is. */
  visitor?: string | undefined;
  seen?: SeenItems;
  open?: OpenShowing[];
  waiting?: Report[];
}

const KEY = 'svc_e';
const WAITING_MAX = 50;
const OPEN_MAX = 5;
/** A lead that nobody took for so long is none. */
const WAITING_MS_MAX = 7 * 24 * 3_600_000;
/** A reload goes on with nothing older, and nobody takes that long to answer. */
export const OPEN_MS_MAX = 24 * 3_600_000;

/** What is remembered of one visitor, where that may be kept in the browser, and else as long as the page is there. */
export interface KeptShowings extends ReportQueue {
  seen(): SeenItems;
  note(seen: SeenItems): void;
  /** What pages that were left had open. */
  open(): OpenShowing[];
  /** What this page has open. */
  mine(): Iterable<OpenShowing>;
  /** Of one id; undefined: it is over. */
  keepOpen_(id: string, open?: OpenShowing): void;
}

/**
 * Begins with removing what is kept no longer.
 *
 * @param own the visitor's id; undefined: none may be kept.
 * @param isTheirs_ whether they are still who looks, and may be measured: else nothing of them is kept any more.
 */
export function openKept(own: string | undefined, isTheirs_: () => boolean): KeptShowings {
  let ofPage: Kept = {};
  const mine = new Map<string, OpenShowing>();

  function read(): Required<Kept> {
    const kept = own ? readKept<Kept>(KEY) : ofPage;
    // Another visitor of the same browser has seen nothing yet, and does not send what the one before filled in.
    const { seen = {}, open = [], waiting = [] } = (kept?.visitor === own && kept) || {};
    return { visitor: own, seen, open: open.filter(isOpenStill), waiting: waiting.filter(isYoung) };
  }
  function write(change: Partial<Kept>): void {
    if (!isTheirs_()) return;
    ofPage = { ...read(), ...change };
    if (own) keep(KEY, ofPage);
  }
  if (readKept(KEY)) write({});
  return {
    seen: () => read().seen,
    note: (seen) => write({ seen }),
    open: () => read().open.filter(({ isLeft }) => isLeft),
    mine: () => mine.values(),
    keepOpen_(id, open) {
      if (open) mine.set(id, open);
      else mine.delete(id);
      const others = read().open.filter((one) => one.id !== id);
      write({ open: [...others, ...(open ? [open] : [])].slice(-OPEN_MAX) });
    },
    waiting: () => read().waiting,
    // Of too many the oldest are dropped.
    keepWaiting_: (waiting) => write({ waiting: waiting.slice(-WAITING_MAX) }),
  };
}

/** How long ago that was; what a clock that was ahead calls later is as old as it will be then. */
export const agoMs = (atMs: number): number => Math.abs(Date.now() - atMs);

const isOpenStill = ({ shownMs }: OpenShowing): boolean => agoMs(shownMs) < OPEN_MS_MAX;

const isYoung = ([, body]: Report): boolean =>
  agoMs(Date.parse((JSON.parse(body) as { timestamp: string }).timestamp)) < WAITING_MS_MAX;
