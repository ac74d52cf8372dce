import { textBlock } from '#services/engage_panels/build_element.ts';
import { showForm } from '#services/engage_panels/form_panel.ts';
import type { Panel } from '#services/engage_panels/panel_frame.ts';
import { showPromo } from '#services/engage_panels/promo_panel.ts';
import type { FormItem, PromoItem, ShownItem, SurveyItem, SurveyProgress } from '#services/engage_panels/shown_item.ts';
import { showSurvey } from '#services/engage_panels/survey_panel.ts';
import { guarded } from '../guarded.ts';
import { type HearReply, isNotTaken } from './engage_reports.ts';
import { agoMs, OPEN_MS_MAX, type OpenShowing } from './kept_showings.ts';
import { openPanel } from './panel.ts';

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
