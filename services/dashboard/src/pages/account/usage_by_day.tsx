import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { UsageAnswer } from '#services/control_api/sites.ts';
import { request } from '../../api/request.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { TimeSeries } from '../../charts/time_series.tsx';
import { monthName, number } from '../../format.ts';
import { API_ZONE } from '../../period.ts';
import { SelectField } from '../../ui/form_fields.tsx';
import { Shown } from '../../ui/states.tsx';
import { evenShare, monthsUntil, usageLines } from './usage_lines.ts';

const EVERY_MS = 60_000;
const HEIGHT_PX = 200;

interface UsageByDayProps {
  accountId: string;
  allowance: number;
}

/** How many events of an account arrived on each day of a month, beside the allowance. */
export function UsageByDay({ accountId, allowance }: UsageByDayProps): VNode {
  const months = monthsUntil(Date.now());
  const [chosen, setChosen] = useState<string | null>(null);
  const month = chosen ?? months[0] ?? '';
  const path = `/v1/admin/accounts/${encodeURIComponent(accountId)}/usage`;
  const asked = useAnswer(
    `${accountId} ${month}`,
    (signal) => request<UsageAnswer>('GET', path, { query: { month }, signal }),
    chosen === null ? EVERY_MS : null,
  );
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

function Days({ usage, allowance }: { usage: UsageAnswer; allowance: number }): VNode {
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
