import { useMemo, useState } from 'preact/hooks';
import type { AccountItem, UsageAnswer } from '#services/control_api/sites.ts';
import { apiPath } from '../../api/request.ts';
import { useGet, useList } from '../../api/use_answer.ts';
import { TimeSeries } from '../../charts/time_series.tsx';
import { API_ZONE, dateTime, monthName, number, percent } from '../../format.ts';
import { sites } from '../../site_list.ts';
import { Button } from '../../ui/button.tsx';
import { SelectField } from '../../ui/form_fields.tsx';
import { Empty, Facts, Panel, Shown, StateBadge, type StateLook } from '../../ui/panel.tsx';
import { type AllowanceState, evenShare, GRACE, monthOutlook, monthsUntil, usageLines } from './usage_lines.ts';

const EVERY_MS = 60_000;
/** Of more accounts than this, the days are shown one account at a time. */
const UNFOLDED_MAX = 2;
const STATES: Readonly<Record<AllowanceState, StateLook>> = {
  within: { label: 'Within the allowance', badge: 'good' },
  will_end: { label: 'Will be used up', badge: 'warn' },
  used_up: { label: 'Used up', badge: 'bad' },
  dropping: { label: 'Events are dropped', badge: 'bad' },
};

export function Usage() {
  const asked = useList<AccountItem>('/v1/admin/accounts', {}, EVERY_MS);
  return (
    <Shown asked={asked}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="No accounts available" />
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

function OneAccount({ account, isUnfolded }: { account: AccountItem; isUnfolded: boolean }) {
  const [showsDays, setShowsDays] = useState(isUnfolded);
  const { account_id, name, monthly_allowance: allowance, used_this_month: used } = account;
  const nowMs = Date.now();
  const outlook = used === null ? null : monthOutlook(used, allowance, nowMs);
  const expected = outlook?.expected ?? null;
  const own = (sites.value ?? []).filter((site) => site.account_id === account_id);
  const state = outlook === null ? null : STATES[outlook.state];
  return (
    <Panel title={name} actions={state !== null && <StateBadge of={state} />}>
      <div class="stack">
        {used === null ? (
          <p class="muted">Redis is not responding, so usage is unavailable. Events are still accepted.</p>
        ) : (
          <div>
            <meter class="meter" max={Math.max(1, allowance)} value={used} aria-label={`Used of ${name}'s allowance`} />
            <p>
              {number(used)} of {number(allowance)} events this month ({percent(used / Math.max(1, allowance))})
            </p>
          </div>
        )}
        <Facts
          facts={[
            [
              'Forecast',
              expected === null
                ? 'Available after the first hours of the month'
                : `${number(expected.total)} by the end of the month`,
            ],
            expected !== null &&
              expected.reachedAtMs !== null &&
              expected.reachedAtMs > nowMs && [
                'Used up',
                `About ${dateTime(expected.reachedAtMs)}; events are dropped above ${number(Math.round(allowance * GRACE))}`,
              ],
            ['Account', <code>{account_id}</code>],
            ['Sites', own.length === 0 ? 'None' : own.map((site) => site.site_id).join(', ')],
          ]}
        />
        {showsDays ? (
          <UsageByDay accountId={account_id} allowance={allowance} />
        ) : (
          <Button label="Show by day" onClick={() => setShowsDays(true)} />
        )}
      </div>
    </Panel>
  );
}
const HEIGHT_PX = 200;

function UsageByDay({ accountId, allowance }: { accountId: string; allowance: number }) {
  const months = monthsUntil(Date.now());
  const [chosen, setChosen] = useState<string | null>(null);
  const month = chosen ?? months[0] ?? '';
  const path = apiPath('admin', 'accounts', accountId, 'usage');
  const asked = useGet<UsageAnswer>(path, { month }, chosen === null ? EVERY_MS : null);
  return (
    <div class="stack">
      <div class="month-choice">
        <SelectField
          label="Month (UTC)"
          value={month}
          onValue={(value) => setChosen(value === months[0] ? null : value)}
          options={months.map((value) => ({ value, label: monthName(value) }))}
        />
      </div>
      <Shown asked={asked} lines={6}>
        {(usage) => <Days usage={usage} allowance={allowance} />}
      </Shown>
    </div>
  );
}

function Days({ usage, allowance }: { usage: UsageAnswer; allowance: number }) {
  const { starts, series } = useMemo(() => usageLines(usage, allowance), [usage, allowance]);
  const title = `Events by day, ${monthName(usage.month)}`;
  return (
    <>
      <p>
        {number(usage.events)} events arrived in {monthName(usage.month)}. Spread evenly, the allowance is{' '}
        {number(evenShare(usage.month, allowance))} a day.
      </p>
      <TimeSeries
        title={title}
        starts={starts}
        interval="day"
        timeZone={API_ZONE}
        series={series}
        heightPx={HEIGHT_PX}
      />
    </>
  );
}
