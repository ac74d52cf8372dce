import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { AccountItem } from '#services/control_api/sites.ts';
import { listAll } from '../../api/lists.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime, number, percent } from '../../format.ts';
import { type AllowanceState, GRACE, monthOutlook } from '../../month_outlook.ts';
import { sites } from '../../site_list.ts';
import { Badge, type BadgeKind } from '../../ui/badge.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Shown } from '../../ui/states.tsx';
import { UsageByDay } from './usage_by_day.tsx';

const EVERY_MS = 60_000;
/** Of more accounts than this, the days are shown one account at a time. */
const UNFOLDED_MAX = 2;
const STATES: Readonly<Record<AllowanceState, { label: string; badge: BadgeKind }>> = {
  within: { label: 'Within the allowance', badge: 'good' },
  will_end: { label: 'Will be used up', badge: 'warn' },
  used_up: { label: 'Used up', badge: 'bad' },
  dropping: { label: 'Events are dropped', badge: 'bad' },
};

/** What each account used of this month, and what the month comes to at this rate. */
export function Usage(): VNode {
  const asked = useAnswer(
    'accounts',
    (signal) => listAll<AccountItem>('/v1/admin/accounts', {}, 10_000, signal),
    EVERY_MS,
  );
  return (
    <Shown asked={asked}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="There is no account that you may see" />
        ) : (
          <div class="columns">
            {items.map((account) => (
              <OneAccount key={account.account_id} account={account} isUnfolded={items.length <= UNFOLDED_MAX} />
            ))}
          </div>
        )
      }
    </Shown>
  );
}

function OneAccount({ account, isUnfolded }: { account: AccountItem; isUnfolded: boolean }): VNode {
  const [showsDays, setShowsDays] = useState(isUnfolded);
  const { account_id, name, monthly_allowance: allowance, used_this_month: used } = account;
  const nowMs = Date.now();
  const outlook = used === null ? null : monthOutlook(used, allowance, nowMs);
  const expected = outlook?.expected ?? null;
  const own = (sites.value ?? []).filter((site) => site.account_id === account_id);
  const state = outlook === null ? null : STATES[outlook.state];
  return (
    <Panel title={name} actions={state !== null && <Badge kind={state.badge}>{state.label}</Badge>}>
      <div class="stack">
        {used === null ? (
          <p class="muted">Redis, which counts the month, does not answer now. Events are still taken.</p>
        ) : (
          <div>
            <meter
              class="meter"
              min={0}
              max={Math.max(1, allowance)}
              value={used}
              aria-label={`Used of ${name}'s allowance`}
            />
            <p>
              {number(used)} of {number(allowance)} events this month ({percent(used / Math.max(1, allowance))})
            </p>
          </div>
        )}
        <dl class="facts">
          <dt>Forecast</dt>
          <dd>{expected === null ? 'After the first hours of the month' : `${number(expected.total)} by its end`}</dd>
          {expected !== null && expected.reachedAtMs !== null && expected.reachedAtMs > nowMs && (
            <>
              <dt>Used up</dt>
              <dd>
                About {dateTime(expected.reachedAtMs)}; from {number(Math.round(allowance * GRACE))} on events are
                dropped
              </dd>
            </>
          )}
          <dt>Account</dt>
          <dd>
            <code>{account_id}</code>
          </dd>
          <dt>Sites</dt>
          <dd>{own.length === 0 ? 'None' : own.map((site) => site.site_id).join(', ')}</dd>
        </dl>
        {showsDays ? (
          <UsageByDay accountId={account_id} allowance={allowance} />
        ) : (
          <button type="button" class="button" onClick={() => setShowsDays(true)}>
            Show by day
          </button>
        )}
      </div>
    </Panel>
  );
}
