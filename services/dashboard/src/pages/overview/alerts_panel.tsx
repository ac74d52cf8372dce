import type { HealthItem } from '#services/control_api/destinations.ts';
import type { RejectionsItem, TagHealthItem } from '#services/control_api/operations.ts';
import type { DeadLetterItem } from '#services/control_api/redelivery.ts';
import type { AccountItem, SiteItem } from '#services/control_api/sites.ts';
import { type ApiResult, apiPath, ask, request, sentenceOf, sitePath } from '../../api/request.ts';
import { type Asked, askedWhere, useGet, useList, useQuery } from '../../api/use_answer.ts';
import { ago, events, number, percent } from '../../format.ts';
import { addressOf, hasRoute } from '../../router.ts';
import { mayAt, mayInAccount } from '../../session.ts';
import { Icon } from '../../ui/button.tsx';
import { Loading, Panel } from '../../ui/panel.tsx';
import { type AllowanceState, GRACE, monthOutlook } from '../account/usage_lines.ts';
import { isOpen, openDeadLettersQuery } from '../dead_letters/dead_letter_groups.ts';
import { undeliveredSentences } from '../destinations/undelivered.ts';
import { dayQuestion, EVERY_MS } from './overview_questions.ts';

interface AlertsPanelProps {
  siteId: string;
  site: SiteItem | undefined;
}

const DAY_MS = 86_400_000;
const LETTERS_MAX = 5_000;
/** Every letter that is kept is read, to find those that are open. */
const LETTERS_EVERY_MS = 300_000;

interface Check {
  name: string;
  isAllowed: boolean;
  asked: Pick<Asked<unknown>, 'waits' | 'failure'>;
  alerts: Alert[];
}

export function AlertsPanel({ siteId, site }: AlertsPanelProps) {
  const all = useChecks(siteId, site?.account_id ?? null);
  const checks = all.filter(({ isAllowed }) => isAllowed);
  const hidden = all.filter(({ isAllowed }) => !isAllowed).map(({ name }) => name);
  const alerts = checks.flatMap((check) => check.alerts).sort(bySeverity);
  const unknown = checks.filter(({ asked }) => asked.failure !== null);
  if (checks.every(({ asked }) => asked.waits)) {
    return (
      <Panel title="Needs attention">
        <Loading lines={1} />
      </Panel>
    );
  }
  return (
    <Panel title="Needs attention">
      {alerts.length === 0 && unknown.length < checks.length && (
        <p class="row all-well">
          <Icon name="check" /> {nothingText(checks)}
        </p>
      )}
      <ul class="alerts">
        {alerts.map(({ id, severity, title, advice, path, query }) => (
          <li key={id} class={`alert alert-${severity}`}>
            <Icon name="warning" />
            <div>
              <p class="strong wraps">{title}</p>
              <p class="muted wraps">{advice}</p>
            </div>
            {hasRoute(path) && (
              <a class="button small" href={addressOf(path, new URLSearchParams(query))} aria-label={`View: ${title}`}>
                View
              </a>
            )}
          </li>
        ))}
      </ul>
      {hidden.length > 0 && <p class="muted small">Your role cannot see: {hidden.join(', ')}.</p>}
      {unknown.map(({ name, asked }) => (
        <p class="muted small" key={name}>
          {name} could not be checked. {asked.failure !== null && sentenceOf(asked.failure)}
        </p>
      ))}
    </Panel>
  );
}

function nothingText(checks: readonly Check[]): string {
  if (checks.some(({ asked }) => asked.failure !== null)) return 'No issues in what could be checked.';
  return checks.some(({ asked }) => asked.waits) ? 'No issues so far; still checking.' : 'No issues found.';
}

const bySeverity = (a: Alert, b: Alert): number => (a.severity === b.severity ? 0 : a.severity === 'bad' ? -1 : 1);

function useChecks(siteId: string, accountId: string | null): Check[] {
  const nowMs = Date.now();
  const seesHealth = mayAt('destinations.read', siteId);
  const seesAccount = accountId !== null && mayInAccount('account.read', accountId);
  const seesDeadLetters = mayAt('dead_letters.read', siteId);
  const health = useGet<{ items: HealthItem[] }>(
    seesHealth ? '/v1/admin/delivery-health' : null,
    { site_id: siteId },
    EVERY_MS,
  );
  const tag = useGet<TagHealthItem>(sitePath(siteId, 'tag-health'), {}, EVERY_MS);
  const accountPath = apiPath('admin', 'accounts', accountId ?? '');
  const account = useGet<AccountItem>(seesAccount ? accountPath : null, {}, EVERY_MS);
  const deadLetters = useList<DeadLetterItem>(
    seesDeadLetters ? '/v1/admin/dead-letters' : null,
    { state: 'open', site_id: siteId },
    LETTERS_EVERY_MS,
    LETTERS_MAX,
  );
  const seesRejections = mayAt('query.aggregates', siteId);
  const rejections = useQuery(
    `${siteId} ${seesRejections}`,
    askedWhere(seesRejections, (signal) => queryRejections(siteId, signal)),
    EVERY_MS,
  );
  return [
    checkOf('Destinations', seesHealth, health, ({ items }) => deliveryAlerts(siteId, items, nowMs)),
    checkOf('Tag', true, tag, (item) => tagAlerts(siteId, item, nowMs)),
    checkOf('Rejected events', seesRejections, rejections, (day) => rejectionAlerts(siteId, day)),
    checkOf('Allowance', accountId === null || seesAccount, account, (item) => quotaAlerts(item, nowMs)),
    checkOf('Dead letters', seesDeadLetters, deadLetters, ({ items, more }) => deadLetterAlerts(siteId, items, more)),
  ];
}

/** What was not accepted in the last 24 hours; ClickHouse is asked for the events of them only where it matters. */
async function queryRejections(siteId: string, signal: AbortSignal): Promise<ApiResult<DayOfRejections>> {
  const nowMs = Date.now();
  const refused = await request<RejectionsItem>('GET', sitePath(siteId, 'refusals'), {
    query: { from: nowMs - DAY_MS, to: nowMs },
    signal,
  });
  if (!refused.ok) return refused;
  const { totals } = refused.value;
  if (!needsEvents(totals)) return { ...refused, value: { totals, events: null } };
  const day = await ask(siteId, 'trends', dayQuestion(nowMs), signal);
  return day.ok ? { ...refused, value: { totals, events: day.value.series[0]?.events ?? 0 } } : day;
}

const checkOf = <Value,>(
  name: string,
  isAllowed: boolean,
  asked: Asked<Value>,
  alertsOf: (value: Value) => Alert[],
): Check => ({ name, isAllowed, asked, alerts: asked.value === null ? [] : alertsOf(asked.value) });

/** Something that needs somebody: what is wrong, and what to do about it. */
export interface Alert {
  id: string;
  severity: 'bad' | 'warn';
  title: string;
  advice: string;
  path: string;
  query?: Readonly<Record<string, string>>;
}

export const deliveryAlerts = (siteId: string, items: readonly HealthItem[], nowMs: number): Alert[] =>
  items.flatMap((item): Alert[] => {
    const { destination, state, reason, failed, delivered_at } = item;
    const lost = undeliveredSentences(item);
    const common = { path: `/sites/${encodeURIComponent(siteId)}/destinations`, query: { destination } };
    const last =
      delivered_at === null ? 'It has delivered nothing yet.' : `It last delivered ${ago(delivered_at, nowMs)}.`;
    if (state === 'waits_for_settings') {
      const title = `${destination} rejects its settings (${reason})`;
      const advice = ['Correct its settings or credentials.', ...lost, last].join(' ');
      return [{ ...common, id: `settings ${destination}`, severity: 'bad', title, advice }];
    }
    if (state === 'failing') {
      const title = `${destination} is not delivering (${reason})`;
      const advice = [...lost, 'If this persists, check the responses of the platform.', last].join(' ');
      return [{ ...common, id: `failing ${destination}`, severity: 'bad', title, advice }];
    }
    if (failed === 0) return [];
    const title = `${events(failed)} to ${destination} failed in the last 24 hours`;
    const advice = 'Check why, and replay them once that is fixed.';
    return [{ ...common, id: `dead ${destination}`, severity: 'warn', title, advice }];
  });

export function tagAlerts(siteId: string, tag: TagHealthItem, nowMs: number): Alert[] {
  const site = `/sites/${encodeURIComponent(siteId)}`;
  const since = tag.last_event_at === null ? '' : `, last ${ago(tag.last_event_at, nowMs)}`;
  const { now, usual } = tag.last_day;
  const alerts: Alert[] = [];
  if (tag.state === 'never') {
    alerts.push({
      ...{ id: 'tag never', severity: 'warn', path: `${site}/install` },
      title: 'No browser has sent an event yet',
      advice: 'Add the snippet to the pages of the site.',
    });
  }
  if (tag.state === 'quiet') {
    alerts.push({
      ...{ id: 'tag quiet', severity: 'bad', path: `${site}/live` },
      title: `Browsers send far fewer events than usual${since}`,
      advice: `${number(now)} in the last 24 hours, usually ${number(usual)}. Check that the snippet is still on the pages, and that no policy or consent blocks it.`,
    });
  }
  for (const { id, name, state, last_fired_at } of tag.definitions) {
    if (state !== 'stopped') continue;
    alerts.push({
      ...{ id: `definition ${id}`, severity: 'warn', path: `${site}/definitions` },
      title: `“${name}” stopped firing`,
      advice: `It last fired ${last_fired_at === null ? 'before counting began' : ago(last_fired_at, nowMs)}. Check that its selector still matches the page.`,
    });
  }
  if (tag.reported.blocked > 0) {
    alerts.push({
      ...{ id: 'tag blocked', severity: 'warn', path: `${site}/install` },
      title: `A content security policy blocked ${number(tag.reported.blocked)} requests of the tag in the last 7 days`,
      advice: 'Add the address of the service to connect-src of the pages.',
    });
  }
  return alerts;
}

/** Below so many, or so small a share of the day, it is chance, or somebody who tries things out. */
const REFUSED_MIN = 20;
const REFUSED_SHARE = 0.01;

/** What was not accepted of a site in the last 24 hours, and how many events it stored in them. */
export interface DayOfRejections {
  totals: RejectionsItem['totals'];
  /** Null where they were not counted, as too little was refused for it to matter. */
  events: number | null;
}

/** Whether so much of a day was not accepted that how many events there were has to be known. */
export const needsEvents = (totals: RejectionsItem['totals']): boolean =>
  rejectedOf(totals) >= REFUSED_MIN || foreignOf(totals) >= REFUSED_MIN;

const rejectedOf = (totals: RejectionsItem['totals']): number =>
  totals.reduce((sum, { kind, count }) => sum + (kind === 'rejected' ? count : 0), 0);

const foreignOf = (totals: RejectionsItem['totals']): number =>
  totals.reduce((sum, { code, count }) => sum + (code === 'origin_not_allowed' ? count : 0), 0);

/** Whether a notable share of a day's events is malformed, or comes from pages that may not send it. */
export function rejectionAlerts(siteId: string, { totals, events }: DayOfRejections): Alert[] {
  if (events === null) return [];
  const path = `/sites/${encodeURIComponent(siteId)}/refusals`;
  const [rejected, foreign] = [rejectedOf(totals), foreignOf(totals)];
  const alerts: Alert[] = [];
  if (isNotable(rejected, events)) {
    const share = percent(rejected / (rejected + events));
    alerts.push({
      ...{ id: 'rejected', severity: 'warn', path },
      title: `${number(rejected)} events were rejected as malformed in the last 24 hours, ${share}`,
      advice: 'Check their reasons and keys, and correct the sender.',
    });
  }
  if (isNotable(foreign, events)) {
    alerts.push({
      ...{ id: 'origin', severity: 'warn', path },
      title: `${number(foreign)} requests from pages that no key allows were rejected in the last 24 hours`,
      advice: 'If one of your pages is missing from the allowed origins of its key, add it: its events are lost.',
    });
  }
  return alerts;
}

const isNotable = (refused: number, events: number): boolean =>
  refused >= REFUSED_MIN && refused > (refused + events) * REFUSED_SHARE;

const QUOTA_TITLES: Readonly<Record<AllowanceState, string>> = {
  within: '',
  will_end: 'The monthly allowance will be exceeded',
  used_up: 'The monthly allowance is used up',
  dropping: 'The monthly allowance is used up: events are dropped',
};

export function quotaAlerts(account: AccountItem, nowMs: number): Alert[] {
  const { monthly_allowance: allowance, used_this_month: used } = account;
  if (used === null) return [];
  const { state, expected } = monthOutlook(used, allowance, nowMs);
  if (state === 'within') return [];
  const of = `${number(used)} of ${number(allowance)} events, ${percent(used / Math.max(1, allowance))}`;
  const advice = {
    will_end: `${of}; at this rate it comes to ${number(expected?.total ?? null)} by its end.`,
    used_up: `${of}. From ${percent(GRACE)} on events are dropped: raise the allowance before.`,
    dropping: `${of}. Raise the allowance of the account.`,
  }[state];
  const severity = state === 'will_end' ? 'warn' : 'bad';
  return [{ id: 'quota', severity, title: QUOTA_TITLES[state], path: '/account', advice }];
}

/** Dead letters with events of a site that nobody sent in again or resolved, and that were not delivered since. */
export function deadLetterAlerts(siteId: string, deadLetters: readonly DeadLetterItem[], more: boolean): Alert[] {
  const open = deadLetters.filter(isOpen);
  const query = openDeadLettersQuery(siteId);
  const common = { id: 'letters', severity: 'warn', path: '/dead-letters', query } as const;
  if (open.length === 0) {
    if (!more) return [];
    const title = `More than ${number(deadLetters.length)} dead letters: open ones are unknown`;
    return [{ ...common, title, advice: 'Those checked need no action. Check those of the last days.' }];
  }
  const stages = [...new Set(open.map(({ stage }) => stage))].join(', ');
  const count = `${more ? 'More than ' : ''}${number(open.length)}`;
  return [
    {
      ...common,
      title: `${count} open dead ${open.length === 1 ? 'letter' : 'letters'} (${stages})`,
      advice: 'Check their reasons, resend those that can be resent, and resolve the others.',
    },
  ];
}
