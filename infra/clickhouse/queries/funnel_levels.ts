import type { FunnelPlan } from '#pipelines/query/funnel_plan.ts';
import { PLACE_BITS } from './funnel_actors.ts';
import { anyOrder } from './funnel_any_order.ts';
import type { Levels } from './funnel_arrays.ts';
import { inOrder } from './funnel_in_order.ts';
import type { Binder } from './statement.ts';

export function levelColumns(plan: FunnelPlan, binder: Binder): Levels {
  const span = spanOf(plan, binder);
  return plan.order === 'any' ? anyOrder(plan, span) : inOrder(plan, span);
}

/** Two stamps lie in the window when the later one is less than this greater: a step of a millisecond is 2^20 of it. */
export function spanOf(plan: FunnelPlan, binder: Binder): string {
  return binder.bind(String(BigInt(plan.windowMs + 1) << BigInt(PLACE_BITS)), 'UInt64');
}
