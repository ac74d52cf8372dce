import type { HealthItem } from '#services/control_api/destinations.ts';
import type { RejectionsItem, TagHealthItem } from '#services/control_api/operations.ts';
import type { DeadLetterItem } from '#services/control_api/redelivery.ts';
import type { AccountItem, SiteItem } from '#services/control_api/sites.ts';
import { type ApiResult, apiPath, ask, request, sentenceOf, sitePath } from '../../api/request.ts';
import { type Asked, askedWhere, useGet, useList, useQuery } from '../../api/use_answer.ts';
import { addressOf, hasRoute } from '../../router.ts';
import { mayAt, mayInAccount } from '../../session.ts';
import { Icon } from '../../ui/button.tsx';
import { Loading, Panel } from '../../ui/panel.tsx';
import * as rules from './alerts.ts';
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
  alerts: rules.Alert[];
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

const bySeverity = (a: rules.Alert, b: rules.Alert): number =>
  a.severity === b.severity ? 0 : a.severity === 'bad' ? -1 : 1;

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
    checkOf('Destinations', seesHealth, health, ({ items }) => rules.deliveryAlerts(siteId, items, nowMs)),
    checkOf('Tag', true, tag, (item) => rules.tagAlerts(siteId, item, nowMs)),
    checkOf('Rejected events', seesRejections, rejections, (day) => rules.rejectionAlerts(siteId, day)),
    checkOf('Allowance', accountId === null || seesAccount, account, (item) => rules.quotaAlerts(item, nowMs)),
    checkOf('Dead letters', seesDeadLetters, deadLetters, ({ items, more }) =>
      rules.deadLetterAlerts(siteId, items, more),
    ),
  ];
}

/** What was not accepted in the last 24 hours; ClickHouse is asked for the events of them only where it matters. */
async function queryRejections(siteId: string, signal: AbortSignal): Promise<ApiResult<rules.DayOfRejections>> {
  const nowMs = Date.now();
  const refused = await request<RejectionsItem>('GET', sitePath(siteId, 'refusals'), {
    query: { from: nowMs - DAY_MS, to: nowMs },
    signal,
  });
  if (!refused.ok) return refused;
  const { totals } = refused.value;
  if (!rules.needsEvents(totals)) return { ...refused, value: { totals, events: null } };
  const day = await ask(siteId, 'trends', dayQuestion(nowMs), signal);
  return day.ok ? { ...refused, value: { totals, events: day.value.series[0]?.events ?? 0 } } : day;
}

const checkOf = <Value,>(
  name: string,
  isAllowed: boolean,
  asked: Asked<Value>,
  alertsOf: (value: Value) => rules.Alert[],
): Check => ({ name, isAllowed, asked, alerts: asked.value === null ? [] : alertsOf(asked.value) });
