import { textBlock } from './build_element.ts';
import { isNotTaken, type Reply } from './engage_reports.ts';
import { type FormResult, showForm } from './form_panel.ts';
import type { OpenShowing } from './kept_showings.ts';
import { openPanel, type Panel } from './panel.ts';
import { showPromo } from './promo_panel.ts';
import type { FormItem, PromoItem, ShownItem, SurveyItem, SurveyProgress } from './shown_item.ts';
import { showSurvey } from './survey_panel.ts';

/** What a showing tells and keeps. */
export interface ShowingHost {
  /** Tells the edge, with what is known of the page and the visitor. */
  tell(path: string, body: object): Promise<Reply | undefined>;
  shown(item: ShownItem): void;
  done(item: ShownItem): void;
  /** Undefined: it is over. */
  keepOpen(id: string, open?: OpenShowing): void;
  closed(item: ShownItem): void;
  /** Takes what closes a showing, without a word of the visitor's, when they refuse to be measured. */
  opened(close: () => void): void;
}

/** What is shown: what an earlier page kept of it, or what this one begins with. */
interface ToShow {
  open: OpenShowing;
  /** An earlier page showed it, and told so. */
  isResumed: boolean;
  mount: Element;
  picture: HTMLImageElement | undefined;
}

/** One showing of an item, under one id. */
interface Showing {
  open: OpenShowing;
  panel: Panel;
  /** Tells the edge how far the visitor is. */
  report(status: string, more?: object): Promise<Reply | undefined>;
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
export function showItem({ open, isResumed, mount, picture }: ToShow, host: ShowingHost): void {
  const { item, id } = open;
  const { kind, version, token } = item;
  const [path, idName, statusName, seen, dismissed] = ROUTES[kind];
  let isDone = false;
  let isClosed = false;
  const report: Showing['report'] = (status, more) =>
    host
      .tell(path, { [`${kind}_id`]: item.id, version, token, [idName]: id, [statusName]: status, ...more })
      .catch(() => undefined);
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    panel.close();
    host.keepOpen(id);
    host.closed(item);
  };
  const panel = openPanel(item, mount, () => {
    if (!isDone && !isClosed) void report(dismissed);
    close();
  });
  const showing: Showing = {
    open,
    panel,
    report,
    keep: (progress) => host.keepOpen(id, progress && { ...open, progress }),
    done() {
      isDone = true;
      host.done(item);
    },
    close,
  };
  if (kind === 'survey') runSurvey(item, showing);
  else if (kind === 'promo') runPromo(item, picture, showing);
  else runForm(item, showing);
  host.opened(close);
  panel.appear(() => {
    host.keepOpen(id, open);
    if (isResumed) return;
    host.shown(item);
    void report(seen);
  });
}

function runSurvey({ content, words }: SurveyItem, { open, panel, report, keep, done, close }: Showing): void {
  showSurvey(panel, content, words, open.progress, (step, progress) => {
    if (step === 'closed') {
      close();
      return;
    }
    const answers = Object.entries(progress.answers).map(([question_id, value]) => ({ question_id, value }));
    keep(step === 'partial' ? progress : undefined);
    if (step === 'completed') done();
    void report(step, { answers, elapsed_ms: Math.max(0, Date.now() - open.shownMs) }).then((reply) => {
      if (step === 'completed' && reply && isNotTaken(reply)) panel.fill(textBlock('p', words.failed));
    });
  });
}

function runPromo(
  { content, words }: PromoItem,
  picture: HTMLImageElement | undefined,
  { panel, report, done, close }: Showing,
): void {
  showPromo(panel, content, picture, words, (action) => {
    done();
    void report(action);
    // The link is followed by the browser, which needs it to be there still.
    if (action === 'click') setTimeout(close);
  });
}

function runForm({ content, words }: FormItem, { panel, report, keep, done }: Showing): void {
  showForm(panel, content, words, async (filled): Promise<FormResult> => {
    // A reload before the answer sends it again under the same id, and does not ask again.
    keep();
    const reply = await report('submitted', filled);
    const { error, message } = reply?.body ?? {};
    if (reply && isNotTaken(reply)) {
      keep({ at: 0, answers: {} });
      const names = (error?.fields ?? []).map(({ name }) => name);
      return names[0] ? { kind: 'invalid', names } : { kind: 'failed' };
    }
    done();
    // Of spam the answer is as of everything else.
    return reply ? { kind: 'taken', message: message || content.message } : { kind: 'later' };
  });
}
