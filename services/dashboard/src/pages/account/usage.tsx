import type { VNode } from 'preact';
import type { AccountItem } from '#services/control_api/account_shapes.ts';
import { listAll } from '../../api/lists.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime, number, percent } from '../../format.ts';
import { type AllowanceState, GRACE, monthOutlook } from '../../month_outlook.ts';
import { sites } from '../../site_list.ts';
import { Badge, type BadgeKind } from '../../ui/badge.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Shown } from '../../ui/states.tsx';

const EVERY_MS = 60_000;
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
              <OneAccount key={account.account_id} account={account} />
            ))}
          </div>
        )
      }
    </Shown>
  );
}

function OneAccount({ account }: { account: AccountItem }): VNode {
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
      </div>
    </Panel>
  );
}
