import type { Row, RowContext } from '../row.ts';
import { sendAgain } from './duplicates.ts';
import { flushAll } from './parts.ts';

/** Of the host whose clock is off. An edge says by its clock when events arrive, and is not ready then. */
const HOST = ['dedup', 'identity', 'quota', 'warehouse'] as const;
const CALM_REQUESTS_PER_SECOND = 20;

/**
 * The clock of a host goes days off and back, while all events are sent again each time, and Redis is emptied between: what it
 * claims, sweeps, rebuilds, settles and writes is as if its clock were right.
 */
export function clockOff(days: number): Row {
  return {
    name: `clock.${days > 0 ? 'ahead' : 'behind'}`,
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    async fault(context) {
      const { untilSent, ledger, events } = context;
      await untilSent(events / 4);
      await restartHost(context, days);
      await sendAgain(context, 1);
      await untilSent(ledger.size() + events / 4);
      await flushAll(context);
      await untilSent(ledger.size() + events / 4);
      await sendAgain(context, 1);
      await restartHost(context, 0);
      await sendAgain(context, 1);
    },
  };
}

async function restartHost({ world }: RowContext, days: number): Promise<void> {
  const clock = new URL('../world/shifted_clock.ts', import.meta.url);
  clock.searchParams.set('days', String(days));
  for (const name of HOST) await world.fleet.restartWith(name, days === 0 ? [] : ['--import', clock.href]);
}
