import { element, PANEL_NAME, type Panel, panelFrame, textBlock } from '#services/engage_panels/panel_frame.ts';
import { showForm, showPromo, showSurvey } from '#services/engage_panels/panels.ts';
import type { FormItem, PromoItem, ShownItem, SurveyItem, SurveyProgress } from '#services/engage_panels/shown_item.ts';
import { guarded, isSeen } from '../page.ts';
import { agoMs, type HearReply, isNotTaken, OPEN_MS_MAX, type OpenShowing } from './reports.ts';

/** What a showing tells and keeps. */
export interface ShowingHost {
  /** Tells the edge, with what is known of the page and the visitor. */
  tell(path: string, body: object, heard?: HearReply, firstMs?: number): void;
  shown(item: ShownItem): void;
  done(item: ShownItem): void;
  /** Undefined: it is over. */
  keepOpen_(id: string, open?: OpenShowing): void;
  closed(item: ShownItem): void;
  /** Takes what closes a showing without a word of the visitor's: they refuse to be measured, or it is not for the page. */
  opened(item: ShownItem, close: () => void): void;
  /** Whether the visitor is still the one it is for, and may be measured. */
  isTheirs_(): boolean;
}

/** What is shown: what an earlier page kept of it, or what this one begins with. */
export interface ToShow {
  open: OpenShowing;
  /** An earlier page showed it, and told so. */
  isResumed_?: boolean;
  mount: Element;
  picture: HTMLImageElement | undefined;
}

/** One showing of an item, under one id. */
interface Showing {
  open: OpenShowing;
  panel: Panel;
  /** Tells the edge how far the visitor is. */
  report(status: string, more?: object, heard?: HearReply, firstMs?: number): void;
  /** What a reload goes on with; nothing: it is not shown again. */
  keep(progress?: SurveyProgress): void;
  /** It was answered, clicked or submitted: to close it now is no refusal. */
  done(): void;
  close(): void;
}

/** How each kind's route calls the showing's id, what the visitor did, that it was seen, and that it was closed. */
const ROUTES = {
  survey: ['surveys/respond', 'submission_id', 'status', 'shown', 'dismissed'],
  promo: ['promos/track', 'impression_id', 'action', 'view', 'dismiss'],
  form: ['form', 'submission_id', 'status', 'shown', 'dismissed'],
} as const;

/** Shows an item, and tells what becomes of it. */
export function showItem({ open, isResumed_, mount, picture }: ToShow, host: ShowingHost): void {
  const { item, id } = open;
  const { kind, version, token } = item;
  const [path, idName, statusName, seen, dismissed] = ROUTES[kind];
  let isDone = false;
  let isClosed = false;
  const report: Showing['report'] = guarded((status, more, heard, firstMs) => {
    const body = { [`${kind}_id`]: item.id, version, token, [idName]: id, [statusName]: status, ...more };
    host.tell(path, body, heard, firstMs);
  });
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    panel.close();
    host.keepOpen_(id);
    host.closed(item);
  };
  const panel = openPanel(item, mount, () => {
    if (!isDone && !isClosed) report(dismissed);
    close();
  });
  const showing: Showing = {
    open,
    panel,
    report,
    keep: (progress) => host.keepOpen_(id, progress && { ...open, progress }),
    done() {
      isDone = true;
      host.done(item);
    },
    close,
  };
  if (kind === 'survey') runSurvey(item, showing);
  else if (kind === 'promo') runPromo(item, picture, showing);
  else runForm(item, showing);
  host.opened(item, close);
  panel.appear(() => {
    host.keepOpen_(id, open);
    if (isResumed_) return;
    host.shown(item);
    report(seen);
  });
}

function runSurvey({ content, words }: SurveyItem, { open, panel, report, keep, done, close }: Showing): void {
  const went = (isLast: boolean, progress: SurveyProgress): void => {
    const answers = Object.entries(progress.answers).map(([question_id, value]) => ({ question_id, value }));
    keep(isLast ? undefined : progress);
    if (isLast) done();
    const elapsed_ms = Math.min(agoMs(open.shownMs), OPEN_MS_MAX);
    report(isLast ? 'completed' : 'partial', { answers, revision: progress.revision, elapsed_ms }, (reply) => {
      if (isLast && reply && isNotTaken(reply)) panel.fill(textBlock('p', words.failed));
    });
  };
  showSurvey(panel, content, words, open.progress, went, close);
}

function runPromo(
  { content, words }: PromoItem,
  picture: HTMLImageElement | undefined,
  { panel, report, done, close }: Showing,
): void {
  showPromo(panel, content, picture, words, (action) => {
    done();
    report(action);
    // The link is followed by the browser, which needs it to be there still.
    if (action === 'click') setTimeout(close);
  });
}

function runForm({ content, words }: FormItem, { panel, report, keep, done }: Showing): void {
  const shownMs = performance.now();
  showForm(panel, content, words, (filled, settled) => {
    // A reload before the answer sends it again under the same id, and does not ask again.
    keep();
    const heard: HearReply = (reply) => {
      if (reply && isNotTaken(reply)) {
        keep({ at: 0, answers: {} });
        const names = (reply.body.error?.fields ?? []).map(({ name }) => name);
        if (names[0]) settled('invalid', names);
        else settled('failed');
        return;
      }
      done();
      // Of spam the answer is as of everything else.
      if (reply) settled('taken', reply.body.message || content.message);
      else settled('later');
    };
    // Whoever is faster than the edge believes waits here, so that the lead is not taken for a program's.
    report('submitted', filled, heard, shownMs + content.min_ms - performance.now());
  });
}

const SAID_MS = 200;
const FIELDS = 'input:not([tabindex],[type=hidden]),textarea,select';

/** Whether an item is on the page. */
export const isOnPage = (name: string): boolean => !!document.querySelector(`${PANEL_NAME}[data-item="${name}"]`);

/** Whether anything is open above the page. */
export const isAbovePage = (): boolean => !!document.querySelector(`${PANEL_NAME}:not([data-place=inline])`);

/**
 * Makes a panel above the page, where it moves nothing, or in an element of the page.
 *
 * @param dismissed the visitor closed it.
 */
function openPanel(item: ShownItem, mount: Element, dismissed: () => void): Panel {
  const { place, label, show } = item;
  const isInline = place === 'inline';
  const before = document.activeElement as HTMLElement | null;
  const [host, root, box, body] = panelFrame(item, dismissed);
  const isModal = 'showModal' in box;
  if (isInline) box.classList.add('measured');
  const isInside = (): boolean => root.activeElement !== null;

  const onKey = (event: KeyboardEvent): void => {
    const isOurs = isInside() || document.activeElement === document.body;
    if (event.key !== 'Escape' || event.defaultPrevented || !isOurs) return;
    event.preventDefault();
    dismissed();
  };
  if (!isInline) {
    document.addEventListener('keydown', onKey);
    // The browser's own way to close a modal: a phone's back gesture is one.
    box.oncancel = dismissed;
  }
  const status = element('p', { className: 'trap', role: 'status' });
  box.append(status);
  (isInline ? mount : document.body).append(host);

  const focusIn = (): void => {
    const field = body.querySelector<HTMLElement>(FIELDS);
    const target = field ?? (body.firstElementChild as HTMLElement | null);
    if (!field && target) target.tabIndex = -1;
    target?.focus();
  };
  return {
    fill(...content) {
      const hadFocus = isInside();
      // As one, so that all of it is read out where nothing in it takes the focus.
      body.replaceChildren(element('div', { className: 'body' }, ...content));
      if (hadFocus) focusIn();
    },
    appear(seen) {
      if (isInline) {
        appearIn(mount, box, seen);
        return;
      }
      // Above everything that the page itself has put above everything.
      if (isModal) box.showModal();
      else {
        box.popover = 'manual';
        box.showPopover?.();
      }
      // What the visitor asked for takes the focus; what comes by itself is said, once it is listened to.
      if (isModal || show.on === 'click') focusIn();
      else setTimeout(() => status.append(label), SAID_MS);
      seen();
    },
    close() {
      const hadFocus = isInside();
      document.removeEventListener('keydown', onKey);
      host.remove();
      if (hadFocus) before?.focus({ preventScroll: true });
    },
  };
}

/** Calls `then` once, when the observer says of the element what is waited for. */
function whenObserved(element: Element, isIt: (entry: IntersectionObserverEntry) => boolean, then: () => void): void {
  const observer = new IntersectionObserver(
    guarded((entries) => {
      if (!entries.some(isIt)) return;
      observer.disconnect();
      then();
    }),
    { threshold: [0, 0.1, 0.25, 0.5] },
  );
  observer.observe(element);
}

/**
 * Lets a panel appear in an element of the page without moving what the visitor looks at: where the page has reserved its
 * place, which is an element that is empty and high enough, at once; else when the element is below the view. Above it would
 * do only where the browser keeps the view where it was. It is measured before that, unseen.
 *
 * @param seen called when the visitor sees it.
 */
function appearIn(mount: Element, box: HTMLElement, seen: () => void): void {
  const reveal = (): void => {
    box.classList.remove('measured');
    whenObserved(box, isSeen, seen);
  };
  const isEmpty = mount.childElementCount === 1 && !mount.textContent?.trim();
  if (isEmpty && mount.clientHeight >= box.offsetHeight) reveal();
  else whenObserved(mount, ({ isIntersecting, boundingClientRect: { top } }) => !isIntersecting && top > 0, reveal);
}
