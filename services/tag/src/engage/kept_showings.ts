import { keep, readKept } from '../kept.ts';
import type { Report, ReportQueue } from './engage_reports.ts';
import type { SeenItems } from './seen_items.ts';
import type { ShownItem, SurveyProgress } from './shown_item.ts';

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
/** A token holds no longer, and without one nothing is taken. */
const OPEN_MS_MAX = 24 * 3_600_000;

/** What is remembered of one visitor, where that may be kept in the browser, and else as long as the page is there. */
export interface KeptShowings extends ReportQueue {
  seen(): SeenItems;
  note(seen: SeenItems): void;
  /** What pages that were left had open. */
  open(nowMs: number): OpenShowing[];
  /** What this page has open. */
  mine(): OpenShowing[];
  /** Of one id; undefined: it is over. */
  keepOpen(id: string, open?: OpenShowing): void;
  forget(): void;
}

/** @param visitor the visitor's id; undefined: none may be kept. */
export function openKept(visitor: () => string | undefined): KeptShowings {
  let ofPage: Kept = {};
  const mine = new Map<string, OpenShowing>();

  function read(): Kept {
    const own = visitor();
    if (own === undefined) return ofPage;
    const kept = readKept<Kept>(KEY) ?? {};
    // Another visitor of the same browser has seen nothing yet, and does not send what the one before filled in.
    return kept.visitor === own ? kept : { visitor: own };
  }
  function write(change: Kept): void {
    const kept = { ...read(), ...change };
    if (visitor() === undefined) ofPage = kept;
    else keep(KEY, kept);
  }
  return {
    seen: () => read().seen ?? {},
    note: (seen) => write({ seen }),
    open: (nowMs) => (read().open ?? []).filter(({ isLeft, shownMs }) => isLeft && nowMs - shownMs < OPEN_MS_MAX),
    mine: () => [...mine.values()],
    keepOpen(id, open) {
      if (open) mine.set(id, open);
      else mine.delete(id);
      const others = (read().open ?? []).filter((one) => one.id !== id);
      write({ open: [...others, ...(open ? [open] : [])].slice(-OPEN_MAX) });
    },
    waiting: () => (read().waiting ?? []).filter(isYoung),
    forget() {
      ofPage = {};
      keep(KEY);
    },
    // Of too many the oldest are dropped.
    keepWaiting: (waiting) => write({ waiting: waiting.slice(-WAITING_MAX) }),
  };
}

const isYoung = ([, body]: Report): boolean =>
  Date.now() - Date.parse((JSON.parse(body) as { timestamp: string }).timestamp) < WAITING_MS_MAX;
